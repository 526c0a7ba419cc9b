// Decides whether one rank should solve a problem of several ranks, because that takes less time for all.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <tuple>

#include "decide/machine_model.h"
#include "operation/operation.h"
#include "platform/recent_map.h"

namespace blastoff::decide {

/// Bytes per second at which one rank exchanges a distributed matrix with the others, packing and unpacking included.
/// Ranks of one node and today's networks exceed it. Assumed, not measured.
inline constexpr double gathering_rate = 1e9;

/// Whether the model knows how fast the device solves the problem.
bool knows_device(const MachineModel& model, const operation::Operation& solve);

/// The times that all ranks of a grid have taken for a problem together. Thread-safe.
class TimesTogether {
 public:
  void learn(const operation::Operation& solve, int ranks, double seconds);
  /// Returns the shortest time of such a problem; 0: none has been measured.
  double least(const operation::Operation& solve, int ranks) const;

 private:
  using Problem = std::tuple<operation::RoutineId, double, int>;  ///< routine, floating-point operations, number of
                                                                  ///< ranks
  mutable std::mutex mutex_;
  platform::RecentMap<Problem, std::optional<double>> min_{256};
};

/// Whether gathering is expected to take less than half of the time of all ranks together. That time is `together`, in
/// seconds. If `together` is 0 (unknown), each rank is assumed to be as fast as MachineModel::min_cpu_seconds_of()
/// says. `solve`: the whole problem on one device. `moved`: bytes of matrices that go from rank to rank, there and
/// back. False if the model does not know the device.
bool gathering_pays(const MachineModel& model, const operation::Operation& solve, double moved, int ranks,
                    double together);

}  // namespace blastoff::decide
