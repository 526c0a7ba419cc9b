// The simulated device's memory. It consists of mappings in this process, so that an Address is also a host address,
// and a wrong one faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>
#include <string_view>

#include "device/device.h"

namespace blastoff::device::simulated {

/// Fresh memory holds this in every 32-bit word. As a float it is a NaN; two in a row are a signalling NaN as double.
constexpr std::uint32_t fresh_word = 0x7FF4DEAD;

/// Bytes of a reservation's smallest piece.
constexpr std::size_t granularity = std::size_t{2} << 20;

/// Fills `bytes` (a multiple of 4) with fresh_word.
void fill_fresh(void* address, std::size_t bytes);

/// Thread-safe. Memory that no longer belongs to the device is inaccessible: a use after free() or unback() faults. So
/// does a use past the end. With `slack`, places past the end can be read, since some BLAS libraries read a little too
/// far.
class Memory {
 public:
  Memory(std::size_t total, bool slack);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::size_t total() const { return total_; }
  std::size_t unused() const;
  std::size_t largest_reservation() const { return largest_reservation_; }

  Result<Address> allocate(std::size_t bytes);
  Result<Address> reserve(std::size_t bytes);
  Status back(Address address, std::size_t bytes);

  /// These return whether the range was as expected; otherwise they do nothing.
  bool free(Address address);
  bool unback(Address address, std::size_t bytes);
  bool release(Address address, std::size_t bytes);

  /// Whether all of [address, address + bytes) is memory that was handed out and not taken back.
  bool holds(Address address, std::size_t bytes) const;

 private:
  Result<Address> map(std::size_t bytes, std::size_t alignment, std::string_view operation) const;
  void retire(Address address, std::size_t bytes);

  std::size_t slack_behind(std::size_t bytes) const;

  const std::size_t total_;
  const bool slack_;
  std::size_t largest_reservation_ = 0;
  mutable std::shared_mutex mutex_;
  std::size_t used_ = 0;
  struct Allocation {
    std::size_t bytes;   ///< bytes that were asked for and may be used
    std::size_t pages;   ///< the same in whole pages
    std::size_t mapped;  ///< with slack
  };
  std::map<Address, Allocation> allocations_;
  std::map<Address, std::size_t> reservations_;  ///< their sizes, without slack
  std::map<Address, std::size_t> backed_;
  /// Address ranges that were released recently. They stay inaccessible, so that no new mapping at the same place hides
  /// a use after the release.
  std::deque<std::pair<Address, std::size_t>> retired_;
};

}  // namespace blastoff::device::simulated
