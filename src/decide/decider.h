// CPU or device?
#pragma once

#include <cstdint>
#include <memory>

#include "blas/call.h"

namespace blastoff::decide {

/// Decides for calls that could run on either. Thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  /// Calls of a smaller blas::volume() stay on the CPU whatever else is known: one comparison, made before anything
  /// else.
  virtual double floor_volume() const = 0;

  /// Whether a call above the floor is worth the device.
  virtual bool offload(const blas::Call& call) const = 0;
};

/// By average size alone: at least `min_size` (blas::average_size()).
std::unique_ptr<Decider> by_average_size(std::int64_t min_size);

}  // namespace blastoff::decide
