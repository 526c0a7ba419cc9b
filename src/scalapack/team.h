// Processes of a grid that make a call for all, each with a device of its own: a team. Each member has a part of every
// matrix: whole columns, dealt out in blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "scalapack/layout.h"

namespace blastoff::scalapack {

/// The members are the first processes of the grid if all share memory. Otherwise MembersAcross says who they are.
struct Team {
  int members = 1;
  std::int64_t block = 0;  ///< so many columns go to a member at a time

  bool is_root_alone() const { return members == 1; }
  /// The columns of a matrix that a member has, of the first `count`.
  Axis columns(std::int64_t count, int member) const {
    return {.begin = 0,
            .count = count,
            .block = block,
            .first_block = block,
            .process = member,
            .first = 0,
            .processes = members};
  }
};

/// Devices that a process may use for a team; 0: none.
struct SeenDevices {
  int count = 0;
  int first = 0;  ///< the one that the process itself takes

  /// The device of a member of its node.
  int of(int member) const { return (first + member) % count; }
};

/// A member's words to the others about one call, at its steps. They all go on, or none does.
class TeamWords {
 public:
  /// What a member shows the others at a step.
  using Note = std::array<std::byte, 128>;

  virtual int members() const = 0;
  /// Waits until all have said whether they are able. Returns false if a member is not, or does not answer any more. No
  /// later word is needed then.
  bool all_able(int step, bool able) { return all_able(step, able, {}); }
  virtual bool all_able(int step, bool able, const Note& note) = 0;
  /// After all_able() for this step, until the next one.
  virtual const Note& note_of(int member, int step) const = 0;
  /// Whether all_able() for this step is going to return false, as far as can be told, while this process is on its way
  /// to the step.
  virtual bool is_hopeless(int step) = 0;
  /// Whether another thread may call is_hopeless().
  virtual bool on_any_thread() const = 0;
  /// The names of the members' processes.
  virtual std::vector<std::uint64_t> processes() const = 0;

 protected:
  ~TeamWords() = default;
};

class Segment;

/// Where a member finds the matrices of a call, and where the results go.
struct TeamMatrices {
  Segment* segment = nullptr;  ///< in memory that all share; otherwise:
  /// This member's part of each matrix, by the index of the rule: its columns one behind the other, without gaps.
  std::span<std::byte* const> parts{};
  /// The members are able to make the call: brings the parts.
  std::function<void()> bring{};
};

enum class TeamOutcome : std::uint8_t {
  solved,
  unsolved,  ///< there is no result; the matrices may have changed, but not those of the program
  failed,    ///< the same: a device, a library or a member has failed
  unable,    ///< nothing has been done
};

}  // namespace blastoff::scalapack
