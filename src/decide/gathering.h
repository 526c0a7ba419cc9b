// Whether one of several ranks solves a problem sooner for all than they do together.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <tuple>

#include "decide/machine_model.h"
#include "operation/operation.h"
#include "platform/recent_map.h"

namespace blastoff::decide {

/// Bytes per second at which one rank exchanges a distributed matrix with the others, packing and unpacking included:
/// what ranks of one node and today's networks exceed. Assumed, not measured.
inline constexpr double gathering_rate = 1e9;

/// Whether the model knows how fast the device solves the problem.
bool knows_device(const MachineModel& model, const operation::Operation& solve);

/// What all ranks of a grid have taken for a problem together. Thread-safe.
class TimesTogether {
 public:
  void learn(const operation::Operation& solve, int ranks, double seconds);
  /// The least that such a problem has taken; 0: there was none yet.
  double least(const operation::Operation& solve, int ranks) const;

 private:
  using Problem = std::tuple<operation::RoutineId, double, int>;  ///< with its operations, and ranks
  mutable std::mutex mutex_;
  platform::RecentMap<Problem, std::optional<double>> least_{256};
};

/// Gathering must be expected to take less than half of what all ranks take together: `together` seconds, or, if that
/// is 0 since nobody has seen it, as if each were as fast as MachineModel::least_cpu_seconds_of() says. `solve`: the
/// whole on one device. `moved`: bytes of matrices that go from rank to rank, there and back. It does not pay on a
/// device that the model does not know.
bool gathering_pays(const MachineModel& model, const operation::Operation& solve, double moved, int ranks,
                    double together);

}  // namespace blastoff::decide
