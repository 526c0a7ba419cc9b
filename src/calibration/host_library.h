// A BLAS library that is loaded for measurements: it computes what the simulated device is asked for.
#pragma once

#include <string>

#include "operation/host.h"

namespace blastoff::calibration {

class HostLibrary final : public operation::Host {
 public:
  /// Under Fortran names, "dgemm_", with 32-bit integers. Of a path that cannot be opened, or "", nothing is computed.
  explicit HostLibrary(const std::string& path);

  bool can_compute(const operation::Operation& operation) const override;
  bool compute(const operation::Operation& operation) const override;

 private:
  void* find(const std::string& routine) const;

  void* handle_ = nullptr;
};

}  // namespace blastoff::calibration
