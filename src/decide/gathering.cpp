#include "decide/gathering.h"

#include <algorithm>

#include "decide/family.h"

namespace blastoff::decide {

bool knows_device(const MachineModel& model, const operation::Operation& solve) {
  const auto key = rate_key_of(solve.name());
  return key && model.device_rates.rate(*key, solve.work.flops) > 0;
}

void TimesTogether::learn(const operation::Operation& solve, int ranks, double seconds) {
  const std::lock_guard lock(mutex_);
  std::optional<double>& least = min_.use({solve.routine(), solve.work.flops, ranks});
  least = std::min(least.value_or(seconds), seconds);
}

double TimesTogether::least(const operation::Operation& solve, int ranks) const {
  const std::lock_guard lock(mutex_);
  const std::optional<double>* const known = min_.find({solve.routine(), solve.work.flops, ranks});
  return known ? known->value_or(0) : 0;
}

bool gathering_pays(const MachineModel& model, const operation::Operation& solve, double moved, int ranks,
                    double together) {
  constexpr double margin = 2;
  if (!knows_device(model, solve)) return false;
  if (together == 0) together = model.min_cpu_seconds_of(solve) / ranks;
  double gathered = moved / gathering_rate + model.device_seconds_of(solve);
  for (const operation::Operand& operand : solve.operands()) {
    const auto bytes = static_cast<double>(operand.part_bytes());
    if (operation::reads(operand.intent)) gathered += bytes / model.to_device;
    if (operation::writes(operand.intent)) gathered += bytes / model.from_device;
  }
  return margin * gathered < together;
}

}  // namespace blastoff::decide
