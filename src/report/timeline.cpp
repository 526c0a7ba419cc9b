#include "report/timeline.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "platform/fork_guard.h"
#include "report/recorder.h"

namespace blastoff::report {
namespace {

constinit std::atomic<std::size_t> max_calls{0};
constinit std::atomic<double> shortest{0};
constinit std::chrono::steady_clock::time_point start{};  // written before max_calls
constinit std::mutex mutex;

/// The number of this thread, kept because asking for it takes a system call.
[[gnu::tls_model("initial-exec")]] constinit thread_local int known_thread = 0;
int this_thread() {
  if (known_thread == 0) known_thread = gettid();
  return known_thread;
}

/// Never destroyed: calls may still end while the process does.
std::vector<TimedCall>& kept() {
  static std::vector<TimedCall>& result = *new std::vector<TimedCall>;
  return result;
}

/// Drops the shorter half of the calls.
void make_room(std::vector<TimedCall>& calls) {
  const auto middle = calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2);
  std::ranges::nth_element(calls, middle, std::greater(), &TimedCall::seconds);
  shortest.store(middle->seconds, std::memory_order_relaxed);
  calls.erase(middle, calls.end());
}

}  // namespace

void keep_timeline(std::size_t most, std::chrono::steady_clock::time_point since) {
  start = since;
  kept().reserve(most);
  max_calls.store(most, std::memory_order_release);
}

bool belongs_to_timeline(double seconds) {
  return max_calls.load(std::memory_order_acquire) > 0 && seconds >= shortest.load(std::memory_order_relaxed);
}

void add_to_timeline(const Record& record) {
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() + seconds_ahead();
  const platform::ForkGuard guard;
  const std::lock_guard lock(mutex);
  std::vector<TimedCall>& calls = kept();
  if (calls.size() >= max_calls.load(std::memory_order_relaxed)) make_room(calls);
  calls.push_back({.start = now - record.seconds,
                   .seconds = record.seconds,
                   .transfer_seconds = record.traffic.transfer_seconds,
                   .routine = record.routine,
                   .on_device = record.refusal == Refusal::none,
                   .thread = this_thread(),
                   .volume = record.volume});
}

Timeline timeline() {
  if (max_calls.load(std::memory_order_relaxed) == 0) return {};
  const platform::ForkGuard guard;
  const std::lock_guard lock(mutex);
  Timeline result{shortest.load(std::memory_order_relaxed), kept()};
  std::ranges::sort(result.calls, {}, &TimedCall::start);
  return result;
}

void forget_timeline() {
  max_calls.store(0, std::memory_order_relaxed);
}

}  // namespace blastoff::report
