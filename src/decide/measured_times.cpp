#include "decide/measured_times.h"

#include <algorithm>

namespace blastoff::decide {
namespace {

/// The least that the device needs, assumed before it was tried. Measured on an H200: a transform of 48^3 complex
/// numbers took 0.10 ms, with copies of 3.5 MB in total.
constexpr double min_seconds = 50e-6;

/// Trials on the device may lose this share of the time spent on the CPU.
constexpr double share_for_trials = 0.01;

void add(std::atomic<double>& sum, double seconds) {
  double known = sum.load(std::memory_order_relaxed);
  while (!sum.compare_exchange_weak(known, known + seconds, std::memory_order_relaxed)) {
  }
}

/// 0 stands for no time yet.
void lower(std::atomic<double>& least, double seconds) {
  double known = least.load(std::memory_order_relaxed);
  while ((known == 0 || seconds < known) && !least.compare_exchange_weak(known, seconds, std::memory_order_relaxed)) {
  }
}

}  // namespace

MeasuredTimes::Times* MeasuredTimes::times_of(std::uint64_t shape) {
  for (std::size_t probe = 0; probe < probes; ++probe) {
    Times& times = times_[(shape + probe) % max_shapes];
    std::uint64_t holder = times.shape.load(std::memory_order_relaxed);
    if (holder == shape) return &times;
    if (holder != 0) continue;
    if (times.shape.compare_exchange_strong(holder, shape, std::memory_order_relaxed) || holder == shape) return &times;
  }
  return nullptr;
}

Refusal MeasuredTimes::judge(std::uint64_t shape, std::uint64_t bytes) {
  Times* const times = times_of(shape);
  if (times == nullptr) return Refusal::cpu_faster;
  if (times->cpu_calls.load(std::memory_order_relaxed) < cpu_trial) return Refusal::not_timed;
  const double expected = min_seconds + static_cast<double>(bytes) / link_.bytes_per_second();
  if (times->cpu_seconds.load(std::memory_order_relaxed) <= expected) return Refusal::cpu_faster;
  return times->backoff.may_try() ? Refusal::none : Refusal::cpu_faster;
}

double MeasuredTimes::cpu_seconds(std::uint64_t shape) const {
  for (std::size_t probe = 0; probe < probes; ++probe) {
    const Times& times = times_[(shape + probe) % max_shapes];
    if (times.shape.load(std::memory_order_relaxed) == shape) return times.cpu_seconds.load(std::memory_order_relaxed);
  }
  return 0;
}

void MeasuredTimes::learn(std::uint64_t shape, bool on_device, double seconds) {
  Times* const times = times_of(shape);
  if (times == nullptr) return;
  if (!on_device) {
    lower(times->cpu_seconds, seconds);
    times->cpu_calls.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const int calls = times->device_calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (calls > 1) {
    lower(times->min_device_seconds, seconds);
    add(times->device_seconds, seconds);
  }
  if (calls == times->trial.load(std::memory_order_relaxed)) end_trial(*times);
}

void MeasuredTimes::end_trial(Times& times) {
  const int trial = times.trial.load(std::memory_order_relaxed);
  const double least = times.min_device_seconds.exchange(0, std::memory_order_relaxed);
  const double sum = times.device_seconds.exchange(0, std::memory_order_relaxed);
  const double device = trial == device_trial ? least : sum / (trial - 1);
  const double cpu = times.cpu_seconds.load(std::memory_order_relaxed);
  const bool faster = device < cpu;
  times.trial.store(faster ? longest_trial : device_trial, std::memory_order_relaxed);
  if (faster) {
    times.backoff.succeeded();
  } else {
    const double lost = sum - (trial - 1) * cpu;
    const double to_regain = cpu > 0 ? std::min(lost / (share_for_trials * cpu), 1e15) : 0;
    times.backoff.failed(static_cast<std::int64_t>(to_regain));
  }
  times.device_calls.store(0, std::memory_order_relaxed);
}

}  // namespace blastoff::decide
