// How a call that does not fit the device is cut into blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "decide/machine_model.h"
#include "operation/operation.h"

namespace blastoff::runtime {

struct BlockPlan {
  std::vector<std::vector<operation::Operation>> series;  ///< operation::blocks(); empty if the call cannot be cut
  /// true: each series runs as one (residency::Policy::begin_series), so the operand that the next operation needs
  /// whole is brought while one operation runs. false: the operations run one by one.
  bool ahead = false;
};

/// With less device memory, cutting gains nothing.
inline constexpr std::size_t min_room = std::size_t{16} << 10;

/// Chooses between larger blocks that run one by one and smaller blocks of which two are on the device at once, by the
/// expected time. With smaller blocks the other matrices cross the link more often; with larger blocks the device waits
/// for each. `room`: bytes of device memory that the call may take.
BlockPlan plan_blocks(const operation::Operation& operation, std::size_t room, const decide::MachineModel& model,
                      bool page_locked);

}  // namespace blastoff::runtime
