// The queue of memory events between interposed calls and the thread that drains them. It has many producers, and none
// of them waits, locks or allocates.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "tracking/memory_events.h"

namespace blastoff::tracking {

/// Any number of producers, one consumer at a time. A slot's turn says who may use it. If it equals a position, the
/// producer that claims this position may; if it is one more than the position, the consumer may.
class InterposedRing {
 public:
  InterposedRing() {
    for (std::uint64_t i = 0; i < capacity; ++i) slots_[i].turn.store(i, std::memory_order_relaxed);
  }

  /// Producer: adds an event. If there is no room the event is lost, and the next take() returns false.
  void put(const MemoryEvent& event) {
    std::uint64_t position = head_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = slots_[position % capacity];
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire);
      if (turn == position) {
        if (!head_.compare_exchange_weak(position, position + 1, std::memory_order_seq_cst)) continue;
        slot.event = event;
        slot.turn.store(position + 1, std::memory_order_release);
        return;
      }
      if (turn < position) {
        lose();
        return;
      }
      position = head_.load(std::memory_order_relaxed);
    }
  }

  /// Records that an event was lost.
  void lose() { lost_.store(true, std::memory_order_release); }

  /// Consumer: appends the events in the ring. False: events were lost since the last take(), or a producer has claimed
  /// a slot and not filled it within a second.
  bool take(std::vector<MemoryEvent>& events) {
    const bool complete = !lost_.exchange(false, std::memory_order_acq_rel);
    const std::uint64_t head = head_.load(std::memory_order_seq_cst);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (; tail != head; ++tail) {
      Slot& slot = slots_[tail % capacity];
      if (!filled(slot, tail + 1)) break;
      events.push_back(slot.event);
      slot.turn.store(tail + capacity, std::memory_order_release);
      tail_.store(tail + 1, std::memory_order_release);
    }
    return complete && tail == head;
  }

  /// Whether take() would append events or report a loss. Any thread may ask.
  bool waiting() const {
    return lost_.load(std::memory_order_acquire) ||
           head_.load(std::memory_order_acquire) != tail_.load(std::memory_order_acquire);
  }

  static constexpr std::uint64_t capacity = 4096;

 private:
  struct Slot {
    std::atomic<std::uint64_t> turn{0};
    MemoryEvent event;
  };

  static bool filled(const Slot& slot, std::uint64_t turn) {
    const auto is_filled = [&] { return slot.turn.load(std::memory_order_acquire) == turn; };
    if (is_filled()) return true;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (!is_filled()) {
      if (std::chrono::steady_clock::now() > deadline) return is_filled();
      sched_yield();
    }
    return true;
  }

  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  std::atomic<bool> lost_{false};
  std::array<Slot, capacity> slots_;
};

}  // namespace blastoff::tracking
