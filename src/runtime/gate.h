// The gate that every call on the device passes: whether the process may use the device, and which calls are using it.
#pragma once

#include <atomic>
#include <chrono>

#include "report/refusal.h"

namespace blastoff::runtime {

/// The gate of this process. Exists before main() and is never destroyed. Thread-safe.
class Gate {
 public:
  /// The longest wait for calls in flight.
  static constexpr std::chrono::seconds longest_wait{10};

  /// Counts a call of this thread as in flight. A call must enter before it asks for the last time whether the gate is
  /// shut: either it sees that the process is exiting, or whoever shuts the gate sees the call.
  class Entry {
   public:
    Entry();
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    /// The call stays in flight until Gate::leave().
    void stay() { stays_ = true; }

   private:
    bool stays_ = false;
  };

  /// Why no call may pass; Refusal::none if calls may.
  report::Refusal refusal() const;

  /// The program switches the device off for all later calls, or on again.
  void switch_off() { switched_off_ = true; }
  void switch_on() { switched_off_ = false; }
  bool switched_off() const { return switched_off_.load(std::memory_order_relaxed); }

  /// The program is about to forbid itself system calls (platform/confinement.h). No call passes any more.
  void confine() { confined_ = true; }
  bool confined() const { return confined_; }

  /// The process is ending. No call passes any more.
  void shut() { exiting_ = true; }
  bool exiting() const { return exiting_; }

  /// In a child of fork(). Returns false if that was known.
  bool become_forked_child();
  /// Whether this process is a child that fork() has announced.
  bool forked() const { return forked_; }

  /// Ends what Entry::stay() has prolonged. `last` still belongs to the call for those who wait for it, but is not
  /// inside_a_call() any more.
  template <class Last>
  void leave(Last last) {
    end_own_call();
    last();
    calls_in_flight_.fetch_sub(1);
  }

  /// Whether the program runs this code inside one of its own calls (in a handler). The locks of that call stay taken
  /// meanwhile.
  static bool inside_a_call();
  /// Whether no call is in flight.
  bool idle() const { return calls_in_flight_ == 0; }
  /// Waits for calls in flight, but not for longer than longest_wait. A call of this thread is not waited for: it
  /// continues only after the caller has returned.
  void wait_for_calls() const;

 private:
  static void end_own_call();

  std::atomic<bool> forked_{false};
  std::atomic<bool> confined_{false};
  std::atomic<bool> exiting_{false};
  std::atomic<bool> switched_off_{false};
  std::atomic<int> calls_in_flight_{0};
};

extern constinit Gate gate;

}  // namespace blastoff::runtime
