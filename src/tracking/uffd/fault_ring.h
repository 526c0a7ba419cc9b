// The queue of page faults between the event reader and the thread that fills pages.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace blastoff::tracking {

/// Single producer, which never waits; single consumer. A thread waits for one page at a time, so that the ring is as
/// long as threads are many.
class FaultRing {
 public:
  void put(std::uintptr_t address) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == addresses_.size()) {
      missed_.store(true, std::memory_order_release);
      return;
    }
    addresses_[head % addresses_.size()] = address;
    head_.store(head + 1, std::memory_order_release);
  }

  /// Appends the addresses. True: there were some.
  bool take(std::vector<std::uintptr_t>& addresses, bool& missed) {
    missed = missed_.exchange(false, std::memory_order_acq_rel);
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const bool any = tail != head;
    for (; tail != head; ++tail) addresses.push_back(addresses_[tail % addresses_.size()]);
    tail_.store(tail, std::memory_order_release);
    return any;
  }

 private:
  std::array<std::uintptr_t, 4096> addresses_{};
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> missed_{false};
};

}  // namespace blastoff::tracking
