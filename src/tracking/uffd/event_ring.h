// The queues of what the event reader takes from the kernel: memory events, for the thread that drains them, and page
// faults, for the thread that fills pages. The reader takes no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "tracking/memory_events.h"

namespace blastoff::tracking {

/// Single producer (the event reader), one consumer at a time. The producer never waits, locks or allocates.
template <class Value>
class ReaderRing {
 public:
  /// Producer. If there is no room the value is lost, and the next take() returns false.
  void put(const Value& value) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == capacity) {
      lose();
      return;
    }
    values_[head % capacity] = value;
    head_.store(head + 1, std::memory_order_release);
  }

  /// Producer: records that a value was lost.
  void lose() { lost_.store(true, std::memory_order_release); }

  /// Consumer: appends the values in the ring. False: some were lost since the last take().
  bool take(std::vector<Value>& values) {
    const bool complete = !lost_.exchange(false, std::memory_order_acq_rel);
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) values.push_back(values_[tail % capacity]);
    tail_.store(tail, std::memory_order_release);
    return complete;
  }

  /// Whether take() would append values or report a loss. Any thread may ask.
  bool waiting() const {
    return lost_.load(std::memory_order_acquire) ||
           head_.load(std::memory_order_acquire) != tail_.load(std::memory_order_acquire);
  }

  static constexpr std::uint64_t capacity = 4096;

 private:
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> lost_{false};
  std::array<Value, capacity> values_{};
};

/// Addresses of pages. A thread waits for one page at a time, so that the ring is as long as threads are many.
using FaultRing = ReaderRing<std::uintptr_t>;

/// The system call that caused an event (munmap ...) returns as soon as the reader's read(2) has taken the event from
/// the kernel, maybe before the reader has put it here. So the reader announces each read before it makes it, and
/// settle() waits for all reads announced so far. If a system call has returned, one of these reads has taken its
/// event.
class EventRing : public ReaderRing<MemoryEvent> {
 public:
  /// Producer: around each read(2), whether or not it delivers anything. Events are put between the two.
  void begin_read() { reads_begun_.fetch_add(1, std::memory_order_seq_cst); }
  void end_read() { reads_done_.fetch_add(1, std::memory_order_release); }

  /// Producer: no more events will come. Every take() from here on returns false.
  void close() {
    closed_.store(true, std::memory_order_release);
    lose();
  }

  /// Consumer: waits for the reads begun so far, usually none. False: a read did not end within a second.
  bool settle() const;

  bool take(std::vector<MemoryEvent>& events) {
    const bool complete = ReaderRing::take(events);
    return complete && !closed_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<std::uint64_t> reads_begun_{0};
  std::atomic<std::uint64_t> reads_done_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace blastoff::tracking
