#include "decide/gathering.h"

#include "decide/family.h"

namespace blastoff::decide {

bool knows_device(const MachineModel& model, const operation::Operation& solve) {
  const auto key = rate_key_of(solve.name());
  return key && model.device_rates.rate(*key, solve.work.flops) > 0;
}

bool gathering_pays(const MachineModel& model, const operation::Operation& solve, double moved, int ranks) {
  constexpr double margin = 2;
  if (!knows_device(model, solve)) return false;
  const double together = model.least_cpu_seconds_of(solve) / ranks;
  double gathered = moved / gathering_rate + model.device_seconds_of(solve);
  for (const operation::Operand& operand : solve.operands()) {
    const auto bytes = static_cast<double>(operand.part_bytes());
    if (operation::reads(operand.intent)) gathered += bytes / model.to_device;
    if (operation::writes(operand.intent)) gathered += bytes / model.from_device;
  }
  return margin * gathered < together;
}

}  // namespace blastoff::decide
