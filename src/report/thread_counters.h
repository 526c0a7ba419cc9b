// The counters of one thread. Only that thread writes them; any thread may read them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "operation/front_end.h"
#include "report/recorder.h"
#include "report/wall_time.h"

namespace blastoff::report {

/// Chooses at random which of many small calls are timed. Selects one of `mean_spacing` calls on average, the first
/// after a random number of calls. A fixed spacing could match the program's own loops and always select the same call
/// of several. The generator is xorshift64 (Marsaglia 2003).
class Sampler {
 public:
  static constexpr std::uint32_t mean_spacing = 64;

  explicit constexpr Sampler(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U | 1U), remaining_(draw()) {}

  /// Counts one call if it is not to be timed; else false, and the next take() is true.
  constexpr bool skip() {
    if (remaining_ <= 1) return false;
    --remaining_;
    return true;
  }

  /// Counts one call; true if it is to be timed.
  constexpr bool take() {
    if (--remaining_ > 0) return false;
    remaining_ = draw();
    return true;
  }

 private:
  /// 1 to 2 * mean_spacing - 1, each equally often.
  constexpr std::uint32_t draw() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return 1 + static_cast<std::uint32_t>((state_ >> 32U) % (2 * mean_spacing - 1));
  }

  std::uint64_t state_;
  std::uint32_t remaining_;
};

/// A sum with a single writer: plain loads and stores, no locked instruction.
template <class T>
class Counter {
 public:
  void add(T amount) { value_.store(get() + amount, std::memory_order_relaxed); }
  void raise_to(T value) {
    if (value > get()) value_.store(value, std::memory_order_relaxed);
  }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }
  T get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_{};
};

#define BLASTOFF_COUNTER(name, type, ...) Counter<type> name;
/// RoutineTotals, as counters. Calls of the small-call path have counters of their own, which also count their
/// refusals. That path changes the first two or four counters and nothing else.
struct RoutineCounters {
  Counter<std::uint64_t> small_calls;
  Counter<double> small_flops;
  Counter<double> small_seconds;
  Counter<double> timed_flops;  ///< of the calls for which small_seconds stands
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_COUNTER)

  void count_small(double operations) {
    small_calls.add(1);
    small_flops.add(operations);
    if (in_call()) inner_flops.add(operations);
  }
  void add(const RoutineTotals& sums);
  void add_to(RoutineTotals& totals) const;
};

/// SizeTotals, as counters.
struct SizeCounters {
  Counter<std::uint64_t> calls;
  Counter<std::uint64_t> offloaded;
  Counter<double> cpu_seconds;
  Counter<double> device_seconds;

  void add(const RoutineTotals& sums);
  void add_to(SizeTotals& totals) const;
};

/// Verification, as counters.
struct VerificationCounters {
  BLASTOFF_VERIFICATION_COUNTERS(BLASTOFF_COUNTER)

  void add_to(Verification& totals) const;
};
#undef BLASTOFF_COUNTER

/// What the calls of one thread have counted.
struct ThreadSums {
  std::array<RoutineCounters, operation::max_routines> routines;  ///< indexed by operation::RoutineId
  std::array<Counter<std::uint64_t>, refusal_count> refusals;
  std::array<Counter<std::uint64_t>, refusal_count> followed;
  std::array<SizeCounters, size_classes> sizes;  ///< indexed by size_class()
  VerificationCounters verification;
  Counter<double> recorded_seconds;      ///< of all calls; see recorded_seconds()
  Counter<double> known_cpu_seconds;     ///< sum of Record::known_cpu_seconds, but with the whole time of each call
  Counter<double> seconds_ahead;         ///< see seconds_ahead()
  Counter<double> largest_small_volume;  ///< see Totals
  Counter<std::uint64_t> first_call;     ///< see Totals
  Counter<std::uint64_t> last_count;     ///< boot_nanoseconds() of the latest call; small calls count if they are timed

  /// A call that took so many seconds is over: sets first_call and last_count.
  void count_moment(double seconds);
  void add_to(Totals& totals) const;
  void clear() { std::construct_at(this); }
};

/// The counters of one thread. Never freed. When a thread ends, its counts stay here, and the next new thread continues
/// in the same block. So no count is lost and no pointer dangles, in whatever order threads and the process end.
struct ThreadCounters : ThreadSums {
  Sampler sampler{0};
  std::atomic<bool> in_use{true};  ///< some live thread counts here
  ThreadCounters* next = nullptr;  ///< constant once the block is in the list
};

// Initial-exec: one load. Other models may call the dynamic linker, which may allocate.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadCounters* own_counters;

/// Takes a block for the calling thread.
ThreadCounters& take_thread_counters();

/// The calling thread's counters; one load after the first time.
inline ThreadCounters& thread_counters() {
  ThreadCounters* block = own_counters;
  return block != nullptr ? *block : take_thread_counters();
}

/// Head of the list of all blocks, linked by `next`. Blocks are only ever added.
ThreadCounters* all_thread_counters();

/// For the child of a fork whose parent's counters lie in a file: leaves them to the parent. The child takes new ones.
void leave_thread_counters();

}  // namespace blastoff::report
