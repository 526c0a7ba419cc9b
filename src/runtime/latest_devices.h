// Remembers on which device matrices were used last.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace blastoff::runtime {

/// Thread-safe, without a lock. The answer is a hint: if several keys share a place in the table, it holds the latest.
class LatestDevices {
 public:
  /// A call with these matrices (key: operands_key()) runs on device number `device`, below 255.
  void set(std::uint64_t key, std::size_t device) {
    place(key).store((key & key_bits) | (device + 1), std::memory_order_relaxed);
  }

  std::optional<std::size_t> of(std::uint64_t key) const {
    const std::uint64_t entry = place(key).load(std::memory_order_relaxed);
    if ((entry & ~key_bits) == 0 || (entry & key_bits) != (key & key_bits)) return std::nullopt;
    return static_cast<std::size_t>(entry & ~key_bits) - 1;
  }

 private:
  static constexpr std::uint64_t key_bits = ~std::uint64_t{0xff};

  std::atomic<std::uint64_t>& place(std::uint64_t key) { return places_[key >> 56]; }
  const std::atomic<std::uint64_t>& place(std::uint64_t key) const { return places_[key >> 56]; }

  std::array<std::atomic<std::uint64_t>, 256> places_{};
};

}  // namespace blastoff::runtime
