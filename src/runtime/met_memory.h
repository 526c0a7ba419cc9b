// Remembers roughly which memory calls on the device have used. Results that the CPU writes to other memory have no
// mirrors. Then residency need not be asked, which would take microseconds, and a call of a few microseconds stays on
// the CPU at no cost.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "operation/operation.h"
#include "residency/footprint.h"

namespace blastoff::runtime {

/// Memory counts in parts of 2 MiB. Parts whose addresses differ by a multiple of 8 GiB count as one (a Bloom filter
/// with one function). Forgets nothing. Thread-safe; takes no lock.
class MetMemory {
 public:
  /// Remembers all operands of a call on the device.
  void meet(const operation::Operation& operation) {
    for (const operation::Operand& operand : operation.operands()) {
      each_part(operand, [](std::atomic<std::uint64_t>& word, std::uint64_t bit) {
        if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
        return false;
      });
    }
  }

  /// Whether a result of the operation may lie in memory that was met.
  bool may_hold_result(const operation::Operation& operation) {
    bool may = false;
    operation.each_result([&](std::size_t, const operation::Operand& result) {
      may = may || each_part(result, [](const std::atomic<std::uint64_t>& word, std::uint64_t bit) {
              return (word.load(std::memory_order_relaxed) & bit) != 0;
            });
    });
    return may;
  }

 private:
  static constexpr std::size_t part_bytes = std::size_t{2} << 20;
  static constexpr std::size_t bits = 64;
  static constexpr std::size_t parts = 4096;

  /// Visits the operand's parts until `visit` returns true. Returns whether it did.
  template <class Visit>
  bool each_part(const operation::Operand& operand, const Visit& visit) {
    if (operand.empty()) return false;
    const platform::Span span = residency::bounds(operand);
    const std::size_t first = span.begin / part_bytes;
    const std::size_t last = std::min((span.end - 1) / part_bytes, first + parts - 1);
    for (std::size_t part = first; part <= last; ++part)
      if (visit(words_[part % parts / bits], std::uint64_t{1} << part % bits)) return true;
    return false;
  }

  std::array<std::atomic<std::uint64_t>, parts / bits> words_{};
};

}  // namespace blastoff::runtime
