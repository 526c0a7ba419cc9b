#include "decide/predicted_times.h"

#include <algorithm>

#include "operation/amounts.h"

namespace blastoff::decide {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// The first calls of a class on the device load kernels, allocate memory and page-lock staging. Their times are
/// ignored.
constexpr std::uint32_t first_calls = 2;

/// A judgement, a record and two readings of the clock take about 0.3 us: too much for calls of some microseconds,
/// nothing for long ones. After 64 calls on the CPU, some of the next calls are therefore not judged.
constexpr std::uint32_t calls_before_settled = 64;
constexpr std::uint32_t max_settled = 31;
constexpr double longest_settled = 1e-4;

void add(std::atomic<float>& sum, double amount) {
  sum.store(sum.load(relaxed) + static_cast<float>(amount), relaxed);
}

/// Moves towards a shorter time faster than towards a longer one, because the shortest time is the undisturbed one. A
/// single call moves it by half at most.
void average(std::atomic<float>& known, double latest) {
  const float before = known.load(relaxed);
  const auto now = before > 0 ? std::min(static_cast<float>(latest), 4 * before) : static_cast<float>(latest);
  const float weight = now < before ? 0.5F : 0.25F;
  known.store(before > 0 ? before + weight * (now - before) : now, relaxed);
}

/// Whether the call copied more than it found on the device.
bool brought_most(const Observation& observation) {
  return observation.bytes_to_device > observation.bytes_reused;
}

/// Whether the call copied so much of what it read that it cannot have found its matrices on the device.
bool brought_much(const Observation& observation) {
  constexpr double max_brought = 0.125;
  const auto brought = static_cast<double>(observation.bytes_to_device);
  return brought > max_brought * (brought + static_cast<double>(observation.bytes_reused));
}

double known_rate(const std::atomic<float>& measured, const std::atomic<float>& guess) {
  const float rate = measured.load(relaxed);
  return static_cast<double>(rate > 0 ? rate : guess.load(relaxed));
}

/// Returns the largest matrix that the operation reads; an empty one if it reads none.
operation::Operand largest_matrix(const operation::Operation& operation) {
  operation::Operand largest;
  for (const operation::Operand& operand : operation.operands())
    if (operation::reads(operand.intent) && operand.part_bytes() > largest.part_bytes()) largest = operand;
  return largest;
}

}  // namespace

std::uint64_t PredictedTimes::Place::key() const {
  return (std::uint64_t{routine} << 32 | static_cast<std::uint64_t>(flops) << 16 |
          static_cast<std::uint64_t>(bytes) << 4 | 1) *
         0x9e3779b97f4a7c15U;
}

PredictedTimes::Place PredictedTimes::place_of(const operation::Operation& operation) {
  const auto bytes = static_cast<double>(part_bytes(operation, operation::reads) + 1);
  return {operation.routine(), operation::half_octave(operation.work.flops), operation::half_octave(bytes)};
}

/// The predicted times of one call, in seconds.
struct PredictedTimes::Prediction {
  double seconds_per_byte = 0;  ///< for copying matrices to the device
  double read_bytes = 0;
  double work = 0;
  double home = 0;  ///< for copying the results to the host
  double with_nothing_there = 0;
  double cpu = 0;        ///< 0: unknown
  double cpu_there = 0;  ///< the same if all that is read has moved to the device's memory
  double min_cpu = 0;    ///< no CPU of this machine takes less

  double with_all_there() const { return work + home; }
  /// On the CPU, with the matrices where they were found.
  double cpu_with(const operation::Estimate& found) const {
    return found.moved == 0 ? cpu : std::max(cpu, cpu_there * static_cast<double>(found.moved) / read_bytes);
  }
};

PredictedTimes::Class* PredictedTimes::class_of(const operation::Operation& operation) {
  const Place place = place_of(operation);
  const std::uint64_t key = place.key();
  for (std::size_t probe = 0; probe < probes; ++probe) {
    Class& each = classes_[((key >> 40) + probe) % max_classes];
    std::uint64_t holder = each.key.load(relaxed);
    if (holder == key) return &each;
    if (holder != 0) continue;
    if (each.key.compare_exchange_strong(holder, key, relaxed)) {
      ask_neighbours(each, place);
      return &each;
    }
    if (holder == key) return &each;
  }
  return nullptr;
}

const PredictedTimes::Class* PredictedTimes::known_class_at(const Place& place) const {
  const std::uint64_t key = place.key();
  for (std::size_t probe = 0; probe < probes; ++probe) {
    const Class& each = classes_[((key >> 40) + probe) % max_classes];
    const std::uint64_t holder = each.key.load(relaxed);
    if (holder == key) return &each;
    if (holder == 0) break;
  }
  return nullptr;
}

/// Fills in the guesses of a class. Called once, when the class is new.
void PredictedTimes::ask_neighbours(Class& times, const Place& place) const {
  const double earlier = earlier_.of(place.key());
  const double cpu = earlier > 0 ? earlier : rate_of_neighbours(place, &PredictedTimes::latest_cpu_rate);
  times.cpu_guess.store(static_cast<float>(cpu), relaxed);
  const double device = rate_of_neighbours(place, &PredictedTimes::latest_device_rate);
  times.device_guess.store(static_cast<float>(device), relaxed);
}

/// Interpolates between the nearest class with less work and the nearest with more, weighted by their distances.
double PredictedTimes::rate_of_neighbours(const Place& place, Rate rate) const {
  const Neighbour less = nearest(place, -1, rate);
  const Neighbour more = nearest(place, 1, rate);
  if (less.rate == 0 || more.rate == 0) return less.rate + more.rate;
  return (less.rate * more.distance + more.rate * less.distance) / (less.distance + more.distance);
}

/// `direction`: -1 for less work, 1 for more. A class with the same work and other data counts as less.
PredictedTimes::Neighbour PredictedTimes::nearest(const Place& place, int direction, Rate rate) const {
  for (std::int64_t distance = direction < 0 ? 0 : 1; distance <= farthest; ++distance) {
    for (std::int64_t shift = 0; shift <= distance + 1; ++shift) {
      for (const std::int64_t bytes : {place.bytes - shift, place.bytes + shift}) {
        const Place there{place.routine, place.flops + direction * distance, bytes};
        const Class* const known = there.flops < 0 || bytes < 0 ? nullptr : known_class_at(there);
        const double found = known == nullptr ? 0.0 : (this->*rate)(*known);
        if (found > 0) return {found, static_cast<double>(std::max(distance, shift))};
      }
    }
  }
  return {};
}

double PredictedTimes::cpu_seconds(const operation::Operation& operation, double device_seconds) const {
  if (const double measured = measured_cpu_seconds(operation); measured > 0) return measured;
  const double least = model_.load(std::memory_order_acquire)->min_cpu_seconds_of(operation);
  return least > device_seconds ? least : 0;
}

double PredictedTimes::measured_cpu_seconds(const operation::Operation& operation) const {
  const Place place = place_of(operation);
  const Class* const times = known_class_at(place);
  double rate = times == nullptr ? 0 : mean_cpu_rate(*times);
  if (rate <= 0 && times != nullptr) rate = static_cast<double>(times->cpu_guess.load(relaxed));
  if (rate <= 0) rate = rate_of_neighbours(place, &PredictedTimes::latest_cpu_rate);
  // The model has rates of the CPU only if the CPU of this machine was calibrated with a BLAS that is loaded.
  return rate > 0 ? rate * operation.work.flops : model_.load(std::memory_order_acquire)->cpu_seconds_of(operation);
}

double PredictedTimes::seconds_on_cpu_alone(const operation::Operation& operation) const {
  const Place place = place_of(operation);
  const Class* const times = known_class_at(place);
  double rate = times == nullptr ? 0 : rate_on_cpu_alone(*times);
  if (rate <= 0) rate = rate_of_neighbours(place, &PredictedTimes::rate_on_cpu_alone);
  return rate > 0 ? rate * operation.work.flops : model_.load(std::memory_order_acquire)->cpu_seconds_of(operation);
}

std::vector<CpuRate> PredictedTimes::cpu_rates() const {
  std::vector<CpuRate> rates;
  for (const Class& each : classes_) {
    const std::uint64_t key = each.key.load(relaxed);
    const double flops = each.cpu_alone.flops.load(relaxed);
    const bool disturbed = each.cpu.number.load(relaxed) == 0 && latest_cpu_rate(each) > 0;
    if (flops > 0)
      rates.push_back({key, each.cpu_alone.seconds.load(relaxed) / flops, each.cpu_alone.number.load(relaxed)});
    if (disturbed) rates.push_back({key, latest_cpu_rate(each), 0});
  }
  return rates;
}

void PredictedTimes::recall(const std::vector<CpuRate>& rates) {
  earlier_.recall(rates);
  for (Class& each : classes_) {
    const std::uint64_t key = each.key.load(relaxed);
    const double rate = key == 0 ? 0 : earlier_.of(key);
    if (rate > 0) each.cpu_guess.store(static_cast<float>(rate), relaxed);
  }
}

/// Seconds on the device without transfers.
double PredictedTimes::expected_work(const Class& times, const operation::Operation& operation) const {
  const double rate = known_rate(times.device_per_flop, times.device_guess);
  return rate > 0 ? rate * operation.work.flops : model_.load(std::memory_order_acquire)->device_seconds_of(operation);
}

PredictedTimes::Prediction PredictedTimes::predict(const Class& times, const operation::Operation& operation) const {
  const MachineModel& model = *model_.load(std::memory_order_acquire);
  const double flops = operation.work.flops;
  Prediction result;
  const auto per_byte = static_cast<double>(times.per_byte.load(relaxed));
  result.seconds_per_byte = per_byte > 0 ? per_byte : 1 / link_.bytes_per_second();
  result.read_bytes = static_cast<double>(part_bytes(operation, operation::reads));
  result.work = expected_work(times, operation);
  result.home = static_cast<double>(part_bytes(operation, operation::writes)) / model.from_device;
  result.with_nothing_there = result.with_all_there() + result.read_bytes * result.seconds_per_byte;
  result.min_cpu = model.min_cpu_seconds_of(operation);
  const double cpu = known_rate(times.cpu_per_flop, times.cpu_guess);
  result.cpu = result.cpu_there = cpu > 0 ? cpu * flops : model.cpu_seconds_of(operation);
  if (model.cpu_device_memory_rate > 0 && !times.timed_there.load(relaxed))
    result.cpu_there = std::max(result.cpu, result.read_bytes / model.cpu_device_memory_rate);
  return result;
}

Refusal PredictedTimes::judge(const operation::Operation& operation, operation::Estimator& residency,
                              PredictedSeconds* seconds) {
  Class* const times = class_of(operation);
  if (times == nullptr) return by_model(operation);
  const Prediction predicted = predict(*times, operation);
  if (seconds != nullptr)
    *seconds = {.cpu_seconds = predicted.cpu,
                .device_seconds = predicted.with_all_there(),
                .bringing_seconds = predicted.with_nothing_there - predicted.with_all_there(),
                .missing_bytes = predicted.read_bytes};
  return decide(*times, operation, residency, predicted, seconds);
}

/// Decides if there is no room for another class.
Refusal PredictedTimes::by_model(const operation::Operation& operation) const {
  static const Class unknown;
  const Prediction predicted = predict(unknown, operation);
  const double cpu = predicted.cpu > 0 ? predicted.cpu : predicted.min_cpu;
  return cpu > predicted.with_nothing_there ? Refusal::none : Refusal::cpu_faster;
}

Refusal PredictedTimes::decide(Class& times, const operation::Operation& operation, operation::Estimator& residency,
                               const Prediction& predicted, PredictedSeconds* seconds) {
  const auto budget = static_cast<double>(budget_of(times, &Class::for_cpu).load(relaxed));
  if (predicted.cpu == 0)
    return budget < cost_of_leaving(operation, residency) ? Refusal::none : judge_new(times, predicted);
  const double device = static_cast<double>(times.device_seconds.load(relaxed));
  if (device > predicted.min_cpu && budget >= predicted.cpu &&
      spend(times, &Class::for_cpu, predicted.cpu + cost_of_leaving(operation, residency)))
    return Refusal::not_timed;
  if (predicted.cpu > predicted.with_nothing_there) return Refusal::none;
  // The CPU is faster wherever the matrices are, so the residency is not asked.
  if (!may_gain_on_device(predicted)) return stay(times, predicted.with_nothing_there - predicted.cpu);
  const operation::Estimate found = look(times, operation, residency, predicted);
  if (seconds != nullptr) {
    seconds->cpu_seconds = predicted.cpu_with(found);
    seconds->missing_bytes = static_cast<double>(found.missing + found.dirty);
    seconds->bringing_seconds = seconds->missing_bytes * predicted.seconds_per_byte;
  }
  return weigh(times, operation, predicted, found);
}

/// Seconds that a trial of the CPU takes besides the CPU's own: what the device alone has comes home and goes back.
double PredictedTimes::cost_of_leaving(const operation::Operation& operation, operation::Estimator& residency) const {
  if (!results_stay_.load(relaxed)) return 0;
  const auto found = residency.estimate(operation);
  return found ? 2 * static_cast<double>(found->only_there) / link_.bytes_per_second() : 0;
}

operation::Estimate PredictedTimes::look(const Class& times, const operation::Operation& operation,
                                         operation::Estimator& residency, const Prediction& predicted) const {
  if (auto found = residency.estimate(operation)) return *found;
  // There is no estimate while another thread asks for one, or before the device is open.
  const bool known = times.device_calls.load(relaxed) > 0;
  const double expected = known ? static_cast<double>(times.brought.load(relaxed)) : predicted.read_bytes;
  return {.missing = static_cast<std::uint64_t>(expected)};
}

/// Whether the device may take less time if it finds what it needs. Where results have stayed, they may do so again.
bool PredictedTimes::may_gain_on_device(const Prediction& predicted) const {
  return predicted.cpu_there > (results_stay_.load(relaxed) ? predicted.work : predicted.with_all_there());
}

/// Decides if the CPU's time is not known.
Refusal PredictedTimes::judge_new(Class& times, const Prediction& predicted) const {
  if (predicted.min_cpu < predicted.with_nothing_there) return Refusal::not_timed;
  const float device = times.device_seconds.load(relaxed);
  if (static_cast<double>(device) <= predicted.min_cpu || times.for_cpu.load(relaxed) < device) return Refusal::none;
  times.for_cpu.store(0, relaxed);
  return Refusal::not_timed;
}

Refusal PredictedTimes::weigh(Class& times, const operation::Operation& operation, const Prediction& predicted,
                              const operation::Estimate& found) {
  const double from_device = model_.load(std::memory_order_acquire)->from_device;
  const double home = std::max(0.0, predicted.home - static_cast<double>(found.staying) / from_device);
  const double now = predicted.work + home + static_cast<double>(found.dirty) * predicted.seconds_per_byte;
  const double price = static_cast<double>(found.missing) * predicted.seconds_per_byte;
  const double gain = predicted.cpu_with(found) + static_cast<double>(found.only_there) / from_device - now;
  if (gain <= 0) return stay(times, price - gain);
  const std::uint64_t matrix = regions_.key_of(largest_matrix(operation));
  if (gain < price) return copies_.worth_buying(matrix, gain, price) ? Refusal::none : Refusal::not_reused;
  copies_.used(matrix, gain - price);
  return Refusal::none;
}

/// Leaves the call on the CPU, unless a trial of the device is due that loses `loss` seconds.
Refusal PredictedTimes::stay(Class& times, double loss) {
  return spend(times, &Class::for_device, loss) ? Refusal::none : Refusal::cpu_faster;
}

/// Returns the budget that pays for a trial of the class.
std::atomic<float>& PredictedTimes::budget_of(Class& times, Budget budget) {
  const bool cpu = budget == &Class::for_cpu;
  const std::atomic<float>& measured = cpu ? times.cpu_per_flop : times.device_per_flop;
  const std::atomic<float>& guess = cpu ? times.cpu_guess : times.device_guess;
  if (measured.load(relaxed) > 0 || guess.load(relaxed) == 0) return times.*budget;
  return cpu ? for_cpu_ : for_device_;
}

/// Whether the class may spend `cost`; if so, spends it. If the budget is the class's own, it is emptied, because one
/// trial tells as much as several. If several classes share the budget, the rest is left to them.
bool PredictedTimes::spend(Class& times, Budget budget, double cost) {
  std::atomic<float>& from = budget_of(times, budget);
  if (static_cast<double>(from.load(relaxed)) < cost) return false;
  if (&from == &(times.*budget))
    from.store(0, relaxed);
  else
    add(from, -cost);
  return true;
}

void PredictedTimes::observe(const operation::Operation& operation, const Observation& observation) {
  Class* const times = class_of(operation);
  if (times == nullptr || operation.work.flops <= 0) return;
  if (observation.on_device)
    learn_device(*times, operation, observation);
  else
    learn_cpu(*times, operation.work.flops, observation);
}

void PredictedTimes::learn_cpu(Class& times, double flops, const Observation& observation) {
  // Calls that we have disturbed count only as long as there are no others.
  const bool timed = times.cpu.number.load(relaxed) > 0;
  if (observation.typical && !timed) times.cpu_per_flop.store(0, relaxed);
  const bool known = timed || earlier_.of(times.key.load(relaxed)) > 0;
  if (observation.typical || !known) average(times.cpu_per_flop, observation.seconds / flops);
  // The calls that were not timed are assumed to have taken the usual time: this one may have been interrupted.
  const float rate = times.cpu_per_flop.load(relaxed);
  const double usual = static_cast<double>(rate > 0 ? rate : times.cpu_guess.load(relaxed)) * flops;
  const double all = observation.seconds + (observation.calls - 1) * usual;
  add(budget_of(times, &Class::for_device), share_for_trials * all);
  times.cpu_calls.fetch_add(observation.calls, relaxed);
  if (!observation.typical) return;
  if (times.device_calls.load(relaxed) > 0) times.timed_there.store(true, relaxed);
  times.cpu.add(observation.seconds, flops);
  if (!observation.beside_device) times.cpu_alone.add(observation.seconds, flops);
}

void PredictedTimes::CpuCalls::add(double its_seconds, double its_flops) {
  seconds.store(seconds.load(relaxed) + its_seconds, relaxed);
  flops.store(flops.load(relaxed) + its_flops, relaxed);
  number.fetch_add(1, relaxed);
}

double PredictedTimes::latest_cpu_rate(const Class& times) const {
  return static_cast<double>(times.cpu_per_flop.load(relaxed));
}

double PredictedTimes::latest_device_rate(const Class& times) const {
  return static_cast<double>(times.device_per_flop.load(relaxed));
}

/// Returns the mean over all calls as the measured rate; decisions use the moving average of the latest calls instead.
/// Calls that we have disturbed count only if there is nothing else. 0: unknown.
double PredictedTimes::mean_cpu_rate(const Class& times) const {
  const double mean = mean_with_earlier_run(times, times.cpu);
  return mean > 0 ? mean : latest_cpu_rate(times);
}

/// The same without the calls that were made beside a device.
double PredictedTimes::rate_on_cpu_alone(const Class& times) const {
  const double mean = mean_with_earlier_run(times, times.cpu_alone);
  return mean > 0 || times.cpu.number.load(relaxed) > 0 ? mean : latest_cpu_rate(times);
}

/// 0: there was no earlier run, and there were no calls.
double PredictedTimes::mean_with_earlier_run(const Class& times, const CpuCalls& calls) const {
  const double flops = calls.flops.load(relaxed);
  const double own = flops > 0 ? calls.seconds.load(relaxed) / flops : 0;
  return earlier_.mean_with(times.key.load(relaxed), own, flops > 0 ? calls.number.load(relaxed) : 0);
}

std::uint32_t PredictedTimes::settled_calls(const operation::Operation& operation) {
  Class* const times = class_of(operation);
  if (times == nullptr || times->cpu_calls.load(relaxed) < calls_before_settled) return 0;
  const Prediction predicted = predict(*times, operation);
  if (may_gain_on_device(predicted) || predicted.cpu > longest_settled) return 0;
  const double loss = predicted.with_nothing_there - predicted.cpu;
  const double left = loss - static_cast<double>(budget_of(*times, &Class::for_device).load(relaxed));
  const double until_trial = left / (share_for_trials * predicted.cpu);
  return until_trial > max_settled ? max_settled : static_cast<std::uint32_t>(std::max(0.0, until_trial));
}

void PredictedTimes::learn_device(Class& times, const operation::Operation& operation, const Observation& observation) {
  add(budget_of(times, &Class::for_cpu), share_for_trials * observation.seconds);
  const auto brought = static_cast<double>(observation.bytes_to_device);
  times.brought.store(static_cast<float>(brought), relaxed);
  const auto left = static_cast<double>(observation.bytes_left);
  if (left > 0 && 2 * left >= static_cast<double>(part_bytes(operation, operation::writes)) &&
      !results_stay_.load(relaxed))
    results_stay_.store(true, relaxed);
  if (times.device_calls.fetch_add(1, relaxed) < first_calls || !observation.typical) return;
  average(times.device_seconds, observation.seconds);
  const MachineModel& model = *model_.load(std::memory_order_acquire);
  const double flops = operation.work.flops;
  const double home = static_cast<double>(observation.bytes_from_device) / model.from_device;
  if (is_first_to_find(times, observation)) times.device_per_flop.store(0, relaxed);
  const double expected = expected_work(times, operation);
  if (learn_bringing(times, expected + home, observation)) return;
  const double moving = brought / link_.bytes_per_second() + home;
  // Transfers overlap with the work, and their time is not known exactly. At least a tenth of the call's time counts as
  // work.
  const double least = 0.1 * observation.seconds;
  const double work = observation.seconds - moving;
  if (work < least && expected <= least) return;  // the work is as short as expected: this call tells no more
  average(times.device_per_flop, std::max(work, least) / flops);
}

/// Whether this call is the first of its class that found most of its matrices on the device. It then shows the time of
/// the work better than the earlier calls.
bool PredictedTimes::is_first_to_find(Class& times, const Observation& observation) {
  return !brought_much(observation) && !times.found.exchange(true, relaxed);
}

/// Learns the extra time of a call that had to copy its matrices, compared with calls that found them. Before a call of
/// the class has found them, the work of a call that copied most of them is taken to be what was expected: what copying
/// takes besides the transfer (page faults, a busy CPU) would else pass for work, and the device for slow. Returns true
/// if that is all that the call can tell.
bool PredictedTimes::learn_bringing(Class& times, double with_all_there, const Observation& observation) const {
  const bool found = times.found.load(relaxed);
  if (!(found ? brought_much(observation) : brought_most(observation))) return false;
  const auto brought = static_cast<double>(observation.bytes_to_device);
  const double longer = observation.seconds - with_all_there;
  if (!found && longer <= brought / link_.bytes_per_second()) return false;
  if (longer > 0) average(times.per_byte, longer / brought);
  return true;
}

}  // namespace blastoff::decide
