// Computes contractions of blocks on the host and on simulated devices, with the program's own BLAS if it has one.
#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "blas/routine.h"
#include "blocks/product.h"
#include "intercept/loaded_objects.h"
#include "intercept/original.h"

namespace blastoff::runtime {

/// Looks for gemm among the loaded libraries. Looks again when a library has been unloaded, or, if gemm was not there,
/// when another one has been loaded. Thread-safe.
class BlockHost final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override { return own_.can_compute(operation); }
  bool compute(const operation::Operation& operation) const override;

 private:
  struct Found {
    intercept::LinkerCounts counts;
    intercept::Original original;
  };

  intercept::Original program_routine(blas::Scalar scalar) const;

  blocks::Product own_;
  mutable std::mutex mutex_;
  mutable std::array<std::optional<Found>, 4> found_;  // by blas::Scalar
};

}  // namespace blastoff::runtime
