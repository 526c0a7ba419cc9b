#include "decide/gathering.h"

#include <algorithm>

namespace blastoff::decide {

void SharedMemoryRate::learn(int ranks, double bytes, double seconds) {
  constexpr double tells_rate = 8 << 20;
  if (bytes < tells_rate || seconds <= 0) return;
  const double found = bytes / seconds / supposed(ranks);
  const double before = times_supposed_.load(std::memory_order_relaxed);
  times_supposed_.store(before > 0 ? (before + found) / 2 : found, std::memory_order_relaxed);
}

double SharedMemoryRate::bytes_per_second(int ranks) const {
  const double learned = times_supposed_.load(std::memory_order_relaxed);
  return supposed(ranks) * (learned > 0 ? learned : 1);
}

bool knows_device(const MachineModel& model, const operation::Operation& solve) {
  return model.max_device_seconds_of(solve) > 0;
}

// A program has few problems; the limit is for one that never repeats a size.
void TimesTogether::learn(const operation::Operation& solve, int ranks, double seconds) {
  constexpr std::size_t max_problems = 1024;
  const std::lock_guard lock(mutex_);
  if (measured_.size() >= max_problems) measured_.clear();
  Measured& known = measured_[{solve.routine(), ranks, solve.work.flops}];
  known.min_seconds = known.count == 0 ? seconds : std::min(known.min_seconds, seconds);
  ++known.count;
}

double TimesTogether::min_seconds(const operation::Operation& solve, int ranks) const {
  const double flops = solve.work.flops;
  const std::lock_guard lock(mutex_);
  double nearest = neighbourhood;
  double seconds = 0;
  const auto end = measured_.upper_bound({solve.routine(), ranks, flops * neighbourhood});
  for (auto known = measured_.lower_bound({solve.routine(), ranks, flops / neighbourhood}); known != end; ++known) {
    const double other = std::get<double>(known->first);
    const double distance = std::max(other / flops, flops / other);
    if (distance > nearest) continue;
    nearest = distance;
    seconds = known->second.min_seconds * flops / other;
  }
  return seconds;
}

int TimesTogether::count(const operation::Operation& solve, int ranks) const {
  const std::lock_guard lock(mutex_);
  const auto known = measured_.find({solve.routine(), ranks, solve.work.flops});
  return known == measured_.end() ? 0 : known->second.count;
}

double gathered_seconds(const MachineModel& model, const WholeCall& call) {
  double gathered = call.moving + model.max_device_seconds_of(call.solve);
  for (const operation::Operand& operand : call.solve.operands()) {
    const auto bytes = static_cast<double>(operand.part_bytes());
    if (operation::reads(operand.intent)) gathered += bytes / model.to_device;
    if (operation::writes(operand.intent)) gathered += bytes / model.from_device;
  }
  return gathered;
}

double min_seconds_together(const MachineModel& model, const operation::Operation& solve, int ranks) {
  return model.min_cpu_seconds_of(solve) / ranks;
}

bool gathering_pays(const MachineModel& model, const WholeCall& call, double together) {
  constexpr double margin = 2;
  return knows_device(model, call.solve) && margin * gathered_seconds(model, call) < together;
}

double GatheringRule::moving_seconds(double bytes, int ranks, bool through_memory) const {
  return bytes / (through_memory ? rate_.bytes_per_second(ranks) : rate_of_messages);
}

double GatheringRule::seconds_together(const MachineModel& model, const WholeCall& call) const {
  const double measured = together_.min_seconds(call.solve, call.ranks);
  return measured > 0 ? measured : min_seconds_together(model, call.solve, call.ranks);
}

bool GatheringRule::pays(const MachineModel& model, const WholeCall& call) const {
  const double together = seconds_together(model, call);
  if (gathered_.count(call.solve, call.ranks) > 1) return gathered_.min_seconds(call.solve, call.ranks) < together;
  return gathering_pays(model, call, together);
}

bool GatheringRule::may_pay(const MachineModel& model, const WholeCall& call) const {
  if (together_.min_seconds(call.solve, call.ranks) > 0) return false;
  return gathering_pays(model, call, slowest_ranks * seconds_together(model, call));
}

}  // namespace blastoff::decide
