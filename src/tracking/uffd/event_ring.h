// The queue of the kernel's memory events between the event reader and the thread that drains them. The reader takes no
// lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "tracking/memory_events.h"

namespace blastoff::tracking {

/// Single producer (the event reader), one consumer at a time. The producer never waits, locks or allocates.
///
/// The system call that caused an event (munmap ...) returns as soon as the reader's read(2) has taken the event from
/// the kernel, maybe before the reader has put it here. So the reader announces each read before it makes it, and
/// settle() waits for all reads announced so far. If a system call has returned, one of these reads has taken its
/// event.
class EventRing {
 public:
  /// Producer: around each read(2), whether or not it delivers anything.
  void begin_read() { reads_begun_.fetch_add(1, std::memory_order_seq_cst); }
  void end_read() { reads_done_.fetch_add(1, std::memory_order_release); }

  /// Producer, between begin_read and end_read: adds an event. If there is no room the event is lost, and the next
  /// take() returns false.
  void put(const MemoryEvent& event) {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == capacity) {
      lose();
      return;
    }
    events_[head % capacity] = event;
    head_.store(head + 1, std::memory_order_release);
  }

  /// Producer: records that an event was lost.
  void lose() { lost_.store(true, std::memory_order_release); }

  /// Producer: no more events will come. Every take() from here on returns false.
  void close() {
    closed_.store(true, std::memory_order_release);
    lose();
  }

  /// Consumer: waits for the reads begun so far, usually none. False: a read did not end within a second.
  bool settle() const;

  /// Consumer: appends the events in the ring. False: events were lost since the last take().
  bool take(std::vector<MemoryEvent>& events) {
    const bool complete = !lost_.exchange(false, std::memory_order_acq_rel);
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) events.push_back(events_[tail % capacity]);
    tail_.store(tail, std::memory_order_release);
    return complete && !closed_.load(std::memory_order_acquire);
  }

  /// Whether take() would append events or report a loss. Any thread may ask.
  bool waiting() const {
    return lost_.load(std::memory_order_acquire) ||
           head_.load(std::memory_order_acquire) != tail_.load(std::memory_order_acquire);
  }

  static constexpr std::uint64_t capacity = 4096;

 private:
  std::atomic<std::uint64_t> reads_begun_{0};
  std::atomic<std::uint64_t> reads_done_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> lost_{false};
  std::atomic<bool> closed_{false};
  std::array<MemoryEvent, capacity> events_;
};

}  // namespace blastoff::tracking
