#include "decide/matrix_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "decide/machine_model.h"
#include "platform/fnv_hash.h"

namespace blastoff::decide {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// If a larger share of the matrix had to be copied to the device, the device did not hold enough of it.
constexpr double max_brought = 0.25;

/// This many uses show how long the device takes.
constexpr std::uint32_t enough_uses = 4;

/// If the device is no faster, the CPU makes this many products before the next attempt, doubled for each failure.
constexpr double uses_between_trials = 16;

/// Where the caches are cold, a judgement takes some tens of microseconds. After some calls, which show how long
/// products take, not every product is judged. For long ones a judgement is nothing.
constexpr std::uint32_t products_before_settled = 16;
constexpr double max_settled = 31;
constexpr double longest_settled = 2e-3;
constexpr double settled_share = 0.1;

/// More failures than this do not lengthen the time to the next attempt.
constexpr std::uint32_t max_failures = 10;

/// Returns the matrix: the largest operand that may stay on the device.
const operation::Operand& matrix_of(const operation::Operation& product) {
  const auto operands = product.operands();
  return *std::max_element(operands.begin(), operands.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.transient, a.part_bytes()) < std::pair(!b.transient, b.part_bytes());
  });
}

/// Never 0, which stands for no matrix.
std::uint64_t key_of(const operation::Operand& matrix) {
  platform::FnvHash words;
  for (const std::uint64_t word :
       {static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(matrix.address)),
        static_cast<std::uint64_t>(matrix.rows), static_cast<std::uint64_t>(matrix.columns),
        static_cast<std::uint64_t>(matrix.leading_dimension), static_cast<std::uint64_t>(matrix.part)})
    words.add(word);
  const std::uint64_t hash = words.value();
  return (hash ^ hash >> 32) | 1;
}

float averaged(float before, float latest) {
  return 0.75F * before + 0.25F * latest;
}

void add(std::atomic<float>& sum, double amount) {
  sum.store(sum.load(relaxed) + static_cast<float>(amount), relaxed);
}

}  // namespace

const MatrixHistory::Record* MatrixHistory::find(std::uint64_t key) const {
  for (const Record& record : records_[(key >> 1) % set_count])
    if (record.key.load(relaxed) == key) return &record;
  return nullptr;
}

MatrixHistory::Record* MatrixHistory::find(std::uint64_t key) {
  return const_cast<Record*>(std::as_const(*this).find(key));
}

double MatrixHistory::cpu_seconds(const operation::Operation& product) const {
  const operation::Operand& matrix = matrix_of(product);
  const Record* const record = find(key_of(matrix));
  const auto seen = record == nullptr ? 0.0 : static_cast<double>(record->cpu.load(relaxed));
  if (seen > 0) return seen;
  const auto rate = static_cast<double>(first_uses_.cpu_rate.load(relaxed));
  return rate > 0 ? static_cast<double>(matrix.part_bytes()) / rate : 0;
}

MatrixHistory::Record& MatrixHistory::find_or_replace(std::uint64_t key) {
  const std::uint32_t now = clock_.fetch_add(1, relaxed) + 1;
  Record* record = find(key);
  if (record == nullptr) {
    auto& set = records_[(key >> 1) % set_count];
    record = &*std::max_element(set.begin(), set.end(), [&](const Record& a, const Record& b) {
      return now - a.last_use.load(relaxed) < now - b.last_use.load(relaxed);
    });
    for (std::atomic<float>* value : {&record->spent, &record->required, &record->cpu, &record->device})
      value->store(0, relaxed);
    record->hits.store(0, relaxed);
    record->failures.store(0, relaxed);
    record->brought.store(false, relaxed);
    record->expected.store(false, relaxed);
    record->key.store(key, relaxed);
  }
  record->last_use.store(now, relaxed);
  return *record;
}

double MatrixHistory::seconds_to_bring(double bytes) const {
  const float opening = device_open_.load(relaxed) ? 0 : open_seconds_.load(relaxed);
  return bytes / link_.bytes_per_second() + static_cast<double>(opening);
}

bool MatrixHistory::cannot_gain(const operation::Operation& product) const {
  const double cpu = cpu_seconds(product);
  return cpu > 0 && cpu <= static_cast<double>(min_device_seconds_.load(relaxed));
}

bool MatrixHistory::worth_device(const operation::Operation& product, const std::optional<operation::Estimate>& found) {
  const operation::Operand& matrix = matrix_of(product);
  Record* const record = find(key_of(matrix));
  double missing = static_cast<double>(matrix.part_bytes());
  if (found) missing = static_cast<double>(found->missing + found->dirty);
  // Another thread is asking for the estimate, so nothing is known.
  if (!found && record && record->brought.load(relaxed)) missing = 0;
  double required = missing > 0 ? seconds_to_bring(missing) : 0;
  if (record == nullptr) return required == 0 && first_uses_.backoff.may_try();
  required = std::ldexp(required, static_cast<int>(record->failures.load(relaxed)));
  required = std::max(required, static_cast<double>(record->required.load(relaxed)));
  if (record->spent.load(relaxed) < required) return false;
  record->expected.store(missing > 0, relaxed);
  return true;
}

std::uint32_t MatrixHistory::settled_products(const operation::Operation& product) const {
  const double cpu = cpu_seconds(product);
  const bool known = cpu > 0 && clock_.load(relaxed) >= products_before_settled;
  if (!known || cpu > longest_settled || device_open_.load(relaxed)) return 0;
  const operation::Operand& matrix = matrix_of(product);
  const Record* const record = find(key_of(matrix));
  const auto spent = record == nullptr ? 0.0 : static_cast<double>(record->spent.load(relaxed));
  const double left = seconds_to_bring(static_cast<double>(matrix.part_bytes())) - spent;
  return static_cast<std::uint32_t>(std::clamp(settled_share * left / cpu, 0.0, max_settled));
}

void MatrixHistory::observe(const operation::Operation& product, const Observation& observation) {
  const operation::Operand& matrix = matrix_of(product);
  const auto bytes = static_cast<double>(matrix.part_bytes());
  Record& record = find_or_replace(key_of(matrix));
  if (!observation.on_device) {
    first_uses_.learn_cpu(bytes, observation.seconds);
    const float before = record.cpu.load(relaxed);
    const auto seconds = static_cast<float>(observation.seconds);
    record.cpu.store(before > 0 ? std::min(before, seconds) : seconds, relaxed);
    add(record.spent, observation.calls * observation.seconds);
    return;
  }
  const bool known = record.brought.load(relaxed) || record.expected.load(relaxed);
  if (!known) first_uses_.learn_device(bytes, observation.seconds);
  if (static_cast<double>(observation.bytes_to_device) > max_brought * bytes)
    brought(record, observation);
  else
    used(record, observation.seconds);
  record.brought.store(observation.operands_kept, relaxed);
  record.expected.store(false, relaxed);
  record.spent.store(0, relaxed);
}

void MatrixHistory::FirstUses::learn_cpu(double bytes, double seconds) {
  if (seconds <= 0) return;
  const float before = cpu_rate.load(relaxed);
  const auto latest = static_cast<float>(bytes / seconds);
  cpu_rate.store(before > 0 ? averaged(before, latest) : latest, relaxed);
}

void MatrixHistory::FirstUses::learn_device(double bytes, double seconds) {
  const auto latest = static_cast<float>(seconds / bytes * static_cast<double>(cpu_rate.load(relaxed)));
  const float before = ratio.load(relaxed);
  const float average = before > 0 ? averaged(before, latest) : latest;
  ratio.store(average, relaxed);
  if (trials.fetch_add(1, relaxed) + 1 < enough_uses) return;
  trials.store(0, relaxed);
  if (average <= 1) return backoff.succeeded();
  backoff.failed();
  ratio.store(0, relaxed);
}

// The matrix was copied to the device again. The uses since the last copy must have gained what the copy costs.
void MatrixHistory::brought(Record& record, const Observation& observation) {
  const double cost = seconds_to_bring(static_cast<double>(observation.bytes_to_device));
  const bool paid = record.hits.exchange(0, relaxed) * static_cast<double>(record.cpu.load(relaxed)) >= cost;
  const bool again = record.brought.load(relaxed);
  const bool expected = record.expected.load(relaxed) && observation.operands_kept;
  if (paid || (expected && !again))
    record.failures.store(0, relaxed);
  else
    fail(record, cost);
  // A matrix that was copied on purpose may show that this pays.
  if (paid || expected) record.required.store(0, relaxed);
}

void MatrixHistory::used(Record& record, double seconds) {
  const std::uint32_t hits = record.hits.fetch_add(1, relaxed) + 1;
  const auto latest = static_cast<float>(seconds);
  const float average = hits == 1 ? latest : averaged(record.device.load(relaxed), latest);
  record.device.store(average, relaxed);
  const float cpu = record.cpu.load(relaxed);
  if (cpu == 0 || average <= cpu)
    record.required.store(0, relaxed);
  else if (hits >= enough_uses)
    fail(record, uses_between_trials * static_cast<double>(cpu));
}

void MatrixHistory::fail(Record& record, double cost) {
  const std::uint32_t failures = std::min(record.failures.load(relaxed) + 1, max_failures);
  record.failures.store(failures, relaxed);
  record.required.store(static_cast<float>(std::ldexp(cost, static_cast<int>(failures))), relaxed);
}

void MatrixHistory::assume(const MachineModel& model) {
  open_seconds_.store(static_cast<float>(model.open_seconds), relaxed);
  min_device_seconds_.store(static_cast<float>(model.device_seconds), relaxed);
}

void MatrixHistory::device_is_open() {
  if (!device_open_.load(relaxed)) device_open_.store(true, relaxed);
}

}  // namespace blastoff::decide
