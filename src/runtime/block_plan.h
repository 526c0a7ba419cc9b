// Into which blocks a call is cut that does not fit the device.
#pragma once

#include <cstddef>
#include <vector>

#include "decide/machine_model.h"
#include "operation/operation.h"

namespace blastoff::runtime {

struct BlockPlan {
  std::vector<std::vector<operation::Operation>> series;  ///< operation::blocks(); empty: it cannot be cut
  /// The operations of a series are made as one (residency::Policy::begin_series): what the next one needs whole is
  /// brought while one runs. Otherwise one by one.
  bool ahead = false;
};

/// With less device memory, cutting gains nothing.
inline constexpr std::size_t least_room = std::size_t{16} << 10;

/// Larger blocks one by one, or smaller ones of which two are on the device at once: whichever is expected to take
/// less. With smaller blocks the other matrices cross the link more often; with larger ones the device waits for each.
/// `room`: bytes of device memory that the call may take.
BlockPlan plan_blocks(const operation::Operation& operation, std::size_t room, const decide::MachineModel& model,
                      bool page_locked);

}  // namespace blastoff::runtime
