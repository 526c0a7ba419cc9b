#include "decide/measured_times.h"

#include <algorithm>

namespace blastoff::decide {
namespace {

/// The least that the device needs, assumed before it was tried. Measured on an H200: a transform of 48^3 complex
/// numbers took 0.10 ms, with copies of 3.5 MB in total.
constexpr double min_seconds = 50e-6;

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

const MeasuredTimes::Times* MeasuredTimes::known_times_of(std::uint64_t shape) const {
  for (std::size_t probe = 0; probe < probes; ++probe) {
    const Times& times = times_[(shape + probe) % max_shapes];
    if (times.shape.load(std::memory_order_relaxed) == shape) return &times;
  }
  return nullptr;
}

double MeasuredTimes::cpu_seconds(std::uint64_t shape) const {
  const Times* const times = known_times_of(shape);
  return times != nullptr ? times->cpu_seconds.load(std::memory_order_relaxed) : 0;
}

double MeasuredTimes::seconds_on_cpu_alone(const operation::Operation& operation) const {
  const Times* const times = known_times_of(operation.shape);
  return times != nullptr ? rate_on_cpu_alone(*times) * operation.work.flops : 0;
}

/// Seconds per operation; 0: unknown.
double MeasuredTimes::rate_on_cpu_alone(const Times& times) const {
  const double flops = times.flops.load(std::memory_order_relaxed);
  if (flops <= 0) return 0;
  const int calls = times.alone_calls.load(std::memory_order_relaxed) - 1;
  const double sum = calls > 0 ? times.alone_seconds.load(std::memory_order_relaxed) : 0;
  const double mean =
      earlier_.mean_with(times.shape.load(std::memory_order_relaxed), sum / (flops * std::max(1, calls)), calls);
  if (mean > 0 || times.beside_device.load(std::memory_order_relaxed)) return mean;
  return times.cpu_seconds.load(std::memory_order_relaxed) / flops;
}

std::vector<CpuRate> MeasuredTimes::cpu_rates() const {
  std::vector<CpuRate> rates;
  for (const Times& each : times_) {
    const int calls = each.alone_calls.load(std::memory_order_relaxed) - 1;
    const double flops = calls * each.flops.load(std::memory_order_relaxed);
    if (calls <= 0 || flops <= 0) continue;
    rates.push_back({each.shape.load(std::memory_order_relaxed),
                     each.alone_seconds.load(std::memory_order_relaxed) / flops, static_cast<std::uint32_t>(calls)});
  }
  return rates;
}

void MeasuredTimes::learn(const operation::Operation& operation, const Observation& observation) {
  Times* const times = times_of(operation.shape);
  if (times == nullptr) return;
  const double seconds = observation.seconds;
  times->flops.store(operation.work.flops, std::memory_order_relaxed);
  if (!observation.on_device) {
    lower(times->cpu_seconds, seconds);
    times->cpu_calls.fetch_add(1, std::memory_order_relaxed);
    if (observation.beside_device) times->beside_device.store(true, std::memory_order_relaxed);
    if (!observation.typical || observation.beside_device) return;
    if (times->alone_calls.fetch_add(1, std::memory_order_relaxed) > 0) add(times->alone_seconds, seconds);
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
