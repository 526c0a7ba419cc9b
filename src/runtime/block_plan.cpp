#include "runtime/block_plan.h"

#include <algorithm>

#include "operation/amounts.h"

namespace blastoff::runtime {
namespace {

using SeriesList = std::vector<std::vector<operation::Operation>>;

bool can_be_cut(const SeriesList& series) {
  return series.size() > 1 || series.front().size() > 1;
}

/// The expected times of blocks, in seconds.
struct Rates {
  const decide::MachineModel& model;
  double to_device;  ///< bytes per second

  /// The first operand of a block is the one that the block needs whole.
  double seconds_to_bring_whole(const operation::Operation& block) const {
    const operation::Operand& whole = block.operands().front();
    return operation::reads(whole.intent) ? static_cast<double>(whole.part_bytes()) / to_device : 0;
  }

  /// All but bringing the operand that is needed whole. Copies in both directions and arithmetic run at the same time.
  double seconds_of_panels(const operation::Operation& block, double also_brought) const {
    const double up =
        static_cast<double>(part_bytes(block, operation::reads)) / to_device - seconds_to_bring_whole(block);
    const double down = static_cast<double>(block.result_bytes()) / model.from_device;
    return std::max({up + also_brought, down, model.device_seconds_of(block)});
  }

  double seconds(const SeriesList& all, bool ahead) const {
    double sum = 0;
    for (const auto& series : all) {
      for (std::size_t i = 0; i < series.size(); ++i) {
        const bool has_next = ahead && i + 1 < series.size();
        if (i == 0 || !ahead) sum += seconds_to_bring_whole(series[i]);
        sum += seconds_of_panels(series[i], has_next ? seconds_to_bring_whole(series[i + 1]) : 0);
      }
    }
    return sum;
  }
};

}  // namespace

BlockPlan plan_blocks(const operation::Operation& operation, std::size_t room, const decide::MachineModel& model,
                      bool page_locked) {
  BlockPlan alone{operation::blocks(operation, room), false};
  for (; !can_be_cut(alone.series) && room > min_room; alone.series = operation::blocks(operation, room)) room /= 2;
  if (!can_be_cut(alone.series)) return {};
  // Two blocks at once take a third of the room each; the panels take the last third.
  BlockPlan ahead{operation::blocks(operation, room / 3 * 2), true};
  const Rates rates{model, page_locked ? model.direct_to_device : model.to_device};
  return rates.seconds(ahead.series, true) < rates.seconds(alone.series, false) ? ahead : alone;
}

}  // namespace blastoff::runtime
