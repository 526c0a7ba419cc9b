// Host memory of which devices alone have the newest contents, by coarse addresses: for the many calls that need to
// know only that there is none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::platform {

/// Thread-safe. Counts pieces of 2 MiB. Pieces that are 8 GiB apart share a count.
class LeftMemory {
 public:
  static constexpr std::size_t piece_bytes = std::size_t{2} << 20;

  /// Whether there is any such memory.
  bool any() const { return all_.load(std::memory_order_relaxed) != 0; }
  /// False: there is none in the piece of this address.
  bool may_be_at(std::uintptr_t address) const { return pieces_[number(address)].load(std::memory_order_relaxed) != 0; }

  /// The piece that begins at this address has such memory from here on, or none any more.
  void begin(std::uintptr_t piece) { change(piece, 1); }
  void end(std::uintptr_t piece) { change(piece, ~std::uint32_t{0}); }

 private:
  static std::size_t number(std::uintptr_t address) { return address / piece_bytes % numbers; }
  void change(std::uintptr_t piece, std::uint32_t by) {
    pieces_[number(piece)].fetch_add(by, std::memory_order_relaxed);
    all_.fetch_add(by, std::memory_order_relaxed);
  }

  static constexpr std::size_t numbers = 4096;
  std::atomic<std::uint32_t> all_ = 0;
  std::array<std::atomic<std::uint32_t>, numbers> pieces_{};
};

/// The process has one.
inline constinit LeftMemory left_memory;

}  // namespace blastoff::platform
