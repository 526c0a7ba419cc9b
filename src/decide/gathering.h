// Whether one of several ranks solves a problem sooner for all than they do together.
#pragma once

#include "decide/machine_model.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// Bytes per second at which one rank exchanges a distributed matrix with the others, packing and unpacking included:
/// what ranks of one node and today's networks exceed. Assumed, not measured.
inline constexpr double gathering_rate = 1e9;

/// Whether the model knows how fast the device solves the problem.
bool knows_device(const MachineModel& model, const operation::Operation& solve);

/// Gathering must be expected to take less than half the time of all ranks together, each of which is taken to be as
/// fast as MachineModel::least_cpu_seconds_of() says. `solve`: the whole on one device. `moved`: bytes of
/// matrices that go from rank to rank, there and back. It does not pay on a device that the model does not know.
bool gathering_pays(const MachineModel& model, const operation::Operation& solve, double moved, int ranks);

}  // namespace blastoff::decide
