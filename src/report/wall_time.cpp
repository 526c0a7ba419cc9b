#include "report/wall_time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace blastoff::report {

constinit thread_local const void* outermost_call = nullptr;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

constinit std::atomic<std::uint64_t> threads_in_calls{0};
constinit std::atomic<std::uint64_t> shared_clock{0};  ///< the sum of all moments, each divided by threads_in_calls
constinit std::atomic<std::uint64_t> counted_until{0};

struct OwnCalls {
  std::uint64_t inside = 0;
  std::uint64_t apart = 0;
  std::uint64_t recording = 0;
  std::uint64_t ours = 0;
  std::uint64_t owed = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local OwnCalls own_calls{};

std::uint64_t now() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

/// To be called before the number of threads in calls changes, and before the clock is read. If threads do so at once,
/// one of them adds the time that has passed. If a handler that never returns interrupts it, that time is lost.
std::uint64_t advance() {
  const std::uint64_t moment = now();
  std::uint64_t before = counted_until.load(relaxed);
  if (moment > before && counted_until.compare_exchange_strong(before, moment, relaxed))
    if (const std::uint64_t threads = threads_in_calls.load(relaxed))
      shared_clock.fetch_add((moment - before) / threads, relaxed);
  return moment;
}

}  // namespace

CallBegin begin_call(const void* frame) {
  const std::uint64_t moment = advance();
  OwnCalls& own = own_calls;
  // The stack grows down. A call whose frame is further up than that of the current call shows that the current call
  // was left.
  if (outermost_call == nullptr) threads_in_calls.fetch_add(1, relaxed);
  if (outermost_call == nullptr || frame >= outermost_call) outermost_call = frame;
  const std::uint64_t owed = outermost_call == frame ? std::exchange(own.owed, 0) : 0;
  return {frame, moment, shared_clock.load(relaxed), own.inside, own.apart, own.recording, own.ours, owed};
}

CallTime end_call(const CallBegin& begin) {
  constexpr double second = 1e-9;
  const std::uint64_t moment = advance();
  OwnCalls& own = own_calls;
  const std::uint64_t shared = shared_clock.load(relaxed) - begin.shared;
  const std::uint64_t inside = own.inside - begin.inside;
  const std::uint64_t not_own = inside + own.apart - begin.apart;
  own.inside = begin.inside + shared;
  own.apart = begin.apart;  // for an enclosing call, all of this call is inside
  const bool outermost = outermost_call == begin.frame;
  if (outermost) leave_calls();
  const std::uint64_t elapsed = moment - begin.moment;
  return {.elapsed = second * static_cast<double>(elapsed),
          .wall = second * static_cast<double>(shared - std::min(shared, not_own) + begin.owed),
          .share = elapsed > 0 ? std::min(1.0, static_cast<double>(shared) / static_cast<double>(elapsed)) : 1.0,
          .whole = inside == 0,
          .inside = !outermost,
          .recording_inside = second * static_cast<double>(own.recording - begin.recording),
          .ours_inside = second * static_cast<double>(own.ours - begin.ours),
          .ended = moment};
}

void add_ours(double seconds) {
  own_calls.ours += static_cast<std::uint64_t>(std::max(0.0, 1e9 * seconds));
}

void recorded_since(std::uint64_t ended) {
  OwnCalls& own = own_calls;
  const std::uint64_t taken = now() - ended;
  own.recording += taken;
  own.ours += taken;
  if (outermost_call == nullptr) own.owed += taken;
}

void count_inside(double wall_seconds) {
  own_calls.inside += static_cast<std::uint64_t>(1e9 * wall_seconds);
}

ApartFromCalls::ApartFromCalls() {
  advance();
  shared_ = shared_clock.load(relaxed);
}

ApartFromCalls::~ApartFromCalls() {
  advance();
  own_calls.apart += shared_clock.load(relaxed) - shared_;
}

void leave_calls() {
  if (std::exchange(outermost_call, nullptr) != nullptr) threads_in_calls.fetch_sub(1, relaxed);
}

void forget_calls() {
  threads_in_calls = 0;
  outermost_call = nullptr;
  own_calls = {};
}

}  // namespace blastoff::report
