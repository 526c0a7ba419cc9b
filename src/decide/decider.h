// CPU or device?
#pragma once

#include <cstdint>
#include <memory>

#include "blas/call.h"

namespace blastoff::decide {

enum class Verdict : std::uint8_t {
  device,
  too_small,    ///< in average size
  too_shallow,  ///< in depth
};

/// Decides for calls that could run on either. Thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  /// Calls of a smaller blas::volume() stay on the CPU whatever else is known: one comparison, made before anything
  /// else.
  virtual double floor_volume() const = 0;

  virtual Verdict judge(const blas::Call& call) const = 0;
};

/// By the call alone: its average size is at least `min_size` (blas::average_size()), and its depth at least a quarter
/// of that (blas::depth()): a large result that takes little work is computed on the spot before it could come home.
/// Measured by bench/minsize.py.
std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size);

}  // namespace blastoff::decide
