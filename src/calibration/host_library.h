// A BLAS library that is loaded for measurements and computes for the simulated device.
#pragma once

#include <string>

#include "operation/host.h"

namespace blastoff::calibration {

class HostLibrary final : public operation::Host {
 public:
  /// Uses functions with Fortran names, "dgemm_", and 32-bit integers. If `path` is "" or cannot be opened, nothing can
  /// be computed.
  explicit HostLibrary(const std::string& path);

  bool can_compute(const operation::Operation& operation) const override;
  bool compute(const operation::Operation& operation) const override;

 private:
  void* find(const std::string& routine) const;

  void* handle_ = nullptr;
};

}  // namespace blastoff::calibration
