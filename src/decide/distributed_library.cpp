#include "decide/distributed_library.h"

#include <algorithm>
#include <cmath>

namespace blastoff::decide {
namespace {

/// The nearest to a square.
int rows_of(int gpus) {
  int rows = static_cast<int>(std::sqrt(gpus));
  while (gpus % rows != 0) --rows;
  return rows;
}

/// Bytes of all matrices that are read, or that are written.
double bytes(const operation::Operation& operation, bool (*moves)(operation::Intent)) {
  double sum = 0;
  for (const operation::Operand& operand : operation.operands())
    if (moves(operand.intent)) sum += static_cast<double>(operand.part_bytes());
  return sum;
}

std::int64_t longest_side(const operation::Operation& operation) {
  std::int64_t longest = 0;
  for (const operation::Operand& operand : operation.operands())
    longest = std::max({longest, operand.rows, operand.columns});
  return longest;
}

}  // namespace

std::int64_t columns_dealt(const operation::Operation& operation, int row) {
  constexpr std::int64_t best = 512;
  constexpr std::int64_t unit = 8;
  constexpr std::int64_t times_each = 4;
  return std::clamp(longest_side(operation) / (times_each * row) / unit * unit, unit, best);
}

LibrarySeconds library_seconds(const MachineModel& model, const WholeCall& call, const GpuGrid& grid) {
  const int gpus = grid.size();
  const double read = bytes(call.solve, operation::reads);
  operation::Operation share = call.solve;
  share.work.flops /= gpus;
  share.work.volume /= gpus;
  for (operation::Operand& operand : share.operands()) operand.columns = (operand.columns + gpus - 1) / gpus;
  LibrarySeconds seconds{
      .computing = model.max_device_seconds_of(share),
      .moving = call.moving / grid.nodes +
                (read / model.to_device + bytes(call.solve, operation::writes) / model.from_device) / gpus};
  if (gpus == 1) return seconds;
  const int rows = rows_of(gpus);
  const double received = read * (1.0 / rows + static_cast<double>(rows) / gpus);
  if (grid.nodes == 1) {
    seconds.exchanging = received / model.to_device;
  } else {
    const double panels =
        static_cast<double>(longest_side(call.solve)) / static_cast<double>(columns_dealt(call.solve, gpus / rows));
    const double messages = panels * 2 * std::ceil(std::log2(gpus));
    seconds.exchanging = received / (grid.bandwidth / grid.gpus_per_node) + messages * grid.latency;
  }
  return seconds;
}

}  // namespace blastoff::decide
