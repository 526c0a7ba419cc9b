// CPU or device?
#pragma once

#include <cstdint>
#include <memory>

#include "operation/operation.h"

namespace blastoff::decide {

enum class Verdict : std::uint8_t {
  device,
  too_small,    ///< in average size
  too_shallow,  ///< in depth
  not_reused,   ///< pays only on resident operands, and such calls have found none
};

/// Decides for calls that could run on either. Thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  /// Calls of a smaller Work::volume stay on the CPU whatever else is known: one comparison, made before anything
  /// else.
  virtual double floor_volume() const = 0;

  virtual Verdict judge(const operation::Operation& operation) = 0;

  /// A call was offloaded under a policy that keeps operands on the device: the bytes that it brought there, and those
  /// that it found there.
  virtual void learn(const operation::Operation& operation, std::uint64_t bytes_to_device,
                     std::uint64_t bytes_reused) = 0;
};

/// By the call: its average size is at least `min_size` (the cube root of Work::volume), and its depth at least a
/// quarter of that (Work::depth): a large result that takes little work is computed on the spot before it could come
/// home. Measured by bench/minsize.py. By experience: a call that does little work for an element of some operand pays
/// only if that operand stays on the device. Such calls are made as long as they find more there than they bring; else
/// they pause, and are tried again ever more rarely.
std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size);

}  // namespace blastoff::decide
