// A call that several processes of a grid make for all, each with a device of its own. The matrices lie in memory that
// all share. Each member of the team copies its part to its device, the devices compute together (device/team.h), and
// each member copies its part of the results back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config/settings.h"
#include "operation/operation.h"
#include "platform/span.h"
#include "scalapack/segment.h"

namespace blastoff::runtime {

enum class TeamOutcome : std::uint8_t {
  solved,
  unsolved,  ///< what is in the shared memory may have changed
  unable,    ///< nothing has been done: the matrices are as they were
};

/// All members call it alike, once the call is full; all of them get the same outcome. `memory`: where the problem lies
/// in the shared memory.
TeamOutcome solve_in_team(const operation::Operation& operation, scalapack::Segment& segment, platform::Span memory,
                          const scalapack::Team& team, int member);

/// What the root knows of a problem.
struct TeamProblem {
  std::size_t bytes = 0;  ///< of device memory that it takes on all devices
  bool fits_one = true;
  std::size_t room = 0;  ///< bytes on one device
  int ranks = 1;         ///< of the grid
};
/// Whether several devices are to make the call, if there are several.
bool asks_for_team(config::GatherGpus wanted, const operation::Operation& operation, const TeamProblem& problem);
/// How many processes make the call with a device each, if it asks for a team and the root sees `devices`; 1: the root
/// alone.
int team_members(const TeamProblem& problem, int devices);
/// On the root, whose device is open: who makes the call. Once a team of this process has failed, the root alone makes
/// all calls.
scalapack::Team choose_team(const operation::Operation& operation, const TeamProblem& problem);

}  // namespace blastoff::runtime
