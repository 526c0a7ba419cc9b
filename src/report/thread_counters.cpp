#include "report/thread_counters.h"

#include <pthread.h>

#include <algorithm>
#include <new>

#include "platform/confinement.h"
#include "platform/threads.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"
#include "report/wall_time.h"

namespace blastoff::report {

constinit thread_local ThreadCounters* own_counters = nullptr;

namespace {

constinit std::atomic<ThreadCounters*> list_head{nullptr};

/// Counters of threads for which there was no memory. They share these, so simultaneous counts may be lost.
constinit ThreadCounters last_resort{};

/// Passes the block of a thread that ends to the next new thread. If a later destructor of the thread's data calls
/// BLAS, the thread takes a block again, and this runs again.
void give_back(void* block) {
  own_counters = nullptr;
  leave_calls();
  static_cast<ThreadCounters*>(block)->in_use.store(false, std::memory_order_release);
}

constexpr std::int64_t not_made = -2;
constinit std::atomic<std::int64_t> exit_key{not_made};

/// The key whose destructor runs give_back(). -1 if the system has no keys left; then blocks are not reused. Uses no
/// lock, because a forked child or a signal handler may find it held.
std::int64_t thread_exit_key() {
  std::int64_t key = exit_key.load(std::memory_order_acquire);
  if (key != not_made) return key;
  pthread_key_t created{};
  const std::int64_t made = pthread_key_create(&created, give_back) == 0 ? static_cast<std::int64_t>(created) : -1;
  if (exit_key.compare_exchange_strong(key, made, std::memory_order_acq_rel)) return made;
  if (made >= 0) pthread_key_delete(created);
  return key;
}

ThreadCounters* take_unused() {
  for (ThreadCounters* block = all_thread_counters(); block != nullptr; block = block->next) {
    bool in_use = false;
    if (block->in_use.compare_exchange_strong(in_use, true, std::memory_order_acquire)) return block;
  }
  return nullptr;
}

ThreadCounters* create() {
  void* const kept = space_in_counter_file();
  auto* block = kept != nullptr ? new (kept) ThreadCounters : new (std::nothrow) ThreadCounters;
  if (block == nullptr) return nullptr;
  block->sampler = Sampler(reinterpret_cast<std::uintptr_t>(block));
  block->next = list_head.load(std::memory_order_relaxed);
  while (!list_head.compare_exchange_weak(block->next, block, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return block;
}

}  // namespace

void RoutineCounters::add(const RoutineTotals& sums) {
#define BLASTOFF_ADD(name, ...) name.add(sums.name);
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
}

void SizeCounters::add(const RoutineTotals& sums) {
  calls.add(sums.calls);
  offloaded.add(sums.offloaded);
  cpu_seconds.add(sums.cpu_seconds);
  device_seconds.add(sums.device_seconds);
}

void SizeCounters::add_to(SizeTotals& totals) const {
  totals.calls += calls.get();
  totals.offloaded += offloaded.get();
  totals.cpu_seconds += std::max(0.0, cpu_seconds.get());
  totals.device_seconds += device_seconds.get();
}

void RoutineCounters::add_to(RoutineTotals& totals) const {
#define BLASTOFF_ADD(name, ...) totals.name += name.get();
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
  totals.calls += small_calls.get();
  totals.flops += small_flops.get();
  totals.cpu_seconds += std::max(0.0, small_seconds.get());  // an estimate, which may come out negative
}

void VerificationCounters::add_to(Verification& totals) const {
  const auto sum = [](auto& total, auto part) { total += part; };
  const auto largest = [](auto& total, auto part) { total = std::max(total, part); };
#define BLASTOFF_MERGE(name, type, merge) merge(totals.name, name.get());
  BLASTOFF_VERIFICATION_COUNTERS(BLASTOFF_MERGE)
#undef BLASTOFF_MERGE
}

void ThreadSums::count_moment(double seconds) {
  const std::uint64_t now = boot_nanoseconds();
  last_count.raise_to(now);
  if (first_call.get() == 0) first_call.add(now - std::min(now - 1, static_cast<std::uint64_t>(1e9 * seconds)));
}

void ThreadSums::add_to(Totals& totals) const {
  std::uint64_t& small_calls = totals.refusals[static_cast<std::size_t>(Refusal::below_min_size)];
  for (std::size_t i = 0; i < totals.routines.size(); ++i) {
    routines[i].add_to(totals.routines[i]);
    small_calls += routines[i].small_calls.get();
    totals.small_seconds += std::max(0.0, routines[i].small_seconds.get());
  }
  for (std::size_t i = 0; i < totals.refusals.size(); ++i) totals.refusals[i] += refusals[i].get();
  for (std::size_t i = 0; i < totals.followed.size(); ++i) totals.followed[i] += followed[i].get();
  for (std::size_t i = 0; i < size_classes; ++i) sizes[i].add_to(totals.sizes[i]);
  verification.add_to(totals.verification);
  totals.busiest_cpu_seconds = std::max(totals.busiest_cpu_seconds, known_cpu_seconds.get());
  totals.largest_small_volume = std::max(totals.largest_small_volume, largest_small_volume.get());
  totals.last_call = std::max(totals.last_call, last_count.get());
  const std::uint64_t began = first_call.get();
  if (began != 0 && (totals.first_call == 0 || began < totals.first_call)) totals.first_call = began;
}

ThreadCounters& take_thread_counters() {
  ThreadCounters* block = take_unused();
  // Creating a block opens files, and the thread must not be cancelled there.
  if (block == nullptr && !platform::confined()) platform::undisturbed([&] { block = create(); });
  if (block == nullptr) return last_resort;
  own_counters = block;
  const std::int64_t key = thread_exit_key();
  if (key >= 0) pthread_setspecific(static_cast<pthread_key_t>(key), block);
  return *block;
}

ThreadCounters* all_thread_counters() {
  return list_head.load(std::memory_order_acquire);
}

void leave_thread_counters() {
  list_head = nullptr;
  own_counters = nullptr;
  const std::int64_t key = exit_key.load();
  if (key >= 0) pthread_setspecific(static_cast<pthread_key_t>(key), nullptr);
}

}  // namespace blastoff::report
