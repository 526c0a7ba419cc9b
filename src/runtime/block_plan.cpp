#include "runtime/block_plan.h"

#include <algorithm>

#include "runtime/bringing.h"

namespace blastoff::runtime {
namespace {

using Series = std::vector<std::vector<operation::Operation>>;

bool can_be_cut(const Series& series) {
  return series.size() > 1 || series.front().size() > 1;
}

/// Blocks are cut so that their first operand is the one that is needed whole.
double seconds_to_bring_whole(const operation::Operation& block, const decide::MachineModel& model) {
  const operation::Operand& whole = block.operands().front();
  return operation::reads(whole.intent) ? static_cast<double>(whole.part_bytes()) / model.to_device : 0;
}

/// Of all but what is needed whole. Copies both ways and arithmetic go on at once.
double seconds_of_panels(const operation::Operation& block, const decide::MachineModel& model, double also_brought) {
  const double up = static_cast<double>(bytes_read(block)) / model.to_device - seconds_to_bring_whole(block, model);
  const double down = static_cast<double>(block.result_bytes()) / model.from_device;
  return std::max({up + also_brought, down, model.device_seconds_of(block)});
}

double expected_seconds(const Series& all, bool ahead, const decide::MachineModel& model) {
  double sum = 0;
  for (const auto& series : all) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      const bool has_next = ahead && i + 1 < series.size();
      if (i == 0 || !ahead) sum += seconds_to_bring_whole(series[i], model);
      sum += seconds_of_panels(series[i], model, has_next ? seconds_to_bring_whole(series[i + 1], model) : 0);
    }
  }
  return sum;
}

}  // namespace

BlockPlan plan_blocks(const operation::Operation& operation, std::size_t room, const decide::MachineModel& model) {
  BlockPlan alone{operation::blocks(operation, room), false};
  for (; !can_be_cut(alone.series) && room > least_room; alone.series = operation::blocks(operation, room)) room /= 2;
  if (!can_be_cut(alone.series)) return {};
  // A third for each of two, and one for the panels.
  BlockPlan ahead{operation::blocks(operation, room / 3 * 2), true};
  const bool faster = expected_seconds(ahead.series, true, model) < expected_seconds(alone.series, false, model);
  return faster ? ahead : alone;
}

}  // namespace blastoff::runtime
