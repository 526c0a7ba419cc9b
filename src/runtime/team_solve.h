// A call that several processes of a grid make for all, each with a device of its own. The matrices lie in memory that
// all share, or each member of the team has got its parts. It copies them to its device, the devices compute together
// (device/team.h), and each member copies its part of the results back.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "config/settings.h"
#include "operation/operation.h"
#include "platform/span.h"
#include "scalapack/team.h"

namespace blastoff::runtime {

using scalapack::TeamOutcome;

/// What a member does, and where its matrices are.
struct TeamShare {
  scalapack::Team team{};
  int member = 0;
  int device = 0;           ///< its number
  platform::Span memory{};  ///< of the whole problem, if all share it; otherwise:
  /// Where the member's part of each operand lies.
  std::array<std::byte*, operation::Operation::max_operands> parts{};
  std::function<void()> bring{};  ///< brings what the parts hold, once all members are able to make the call
};

/// All members call it alike; all of them get the same outcome.
TeamOutcome solve_in_team(const operation::Operation& operation, scalapack::TeamWords& words, const TeamShare& share);

/// The devices that the process may use for teams.
scalapack::SeenDevices seen_devices();

/// What the root knows of a problem.
struct TeamProblem {
  std::size_t bytes = 0;  ///< of device memory that it takes on all devices
  bool fits_one = true;
  std::size_t room = 0;  ///< bytes on one device
  int ranks = 1;         ///< of the grid
  bool one_node = true;  ///< all ranks share memory
};
/// Whether several devices are to make the call, if there are several.
bool asks_for_team(config::GatherGpus wanted, const operation::Operation& operation, const TeamProblem& problem);
/// How many processes make the call with a device each, if it asks for a team and the root sees `devices`; 1: the root
/// alone.
int team_members(const TeamProblem& problem, int devices);
/// Whether a team may make the call, as this process knows. Once one of its teams has failed, no team makes a call.
bool may_choose_team(const operation::Operation& operation, const TeamProblem& problem);
/// On the root, whose device is open: who makes such a call, if there are so many devices.
scalapack::Team choose_team(const operation::Operation& operation, const TeamProblem& problem, int devices);

}  // namespace blastoff::runtime
