// Devices of several processes that make one call together. Each has its part of every matrix.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"

namespace blastoff::device {

/// What the first member tells the others.
using TeamInvitation = std::array<std::byte, 128>;

/// This member's part of a matrix, in the memory of its device. Blocks of columns are dealt out to the members in turn.
struct TeamPart {
  Address address = 0;
  std::int64_t leading_dimension = 1;
  std::int64_t columns = 0;
};

/// One member of a team. All members call its functions alike, in the same order. A function may return only when all
/// have called it. So whoever goes on after an error must see to it that the others call abandon().
class Team {
 public:
  virtual ~Team() = default;

  /// For a call that is to come: takes work space and tells the library of the matrices. `parts` belong to the
  /// operands of the operation, which has the sizes of the whole matrices. The addresses of operands do not matter.
  /// `block`: the order of the blocks.
  virtual Status prepare(const operation::Operation& operation, std::span<const TeamPart> parts,
                         std::int64_t block) = 0;
  /// Makes the call for which all have prepared, and waits until it has been made. Writes the operation's vectors, but
  /// not info. ErrorKind::failed: it has no result, as if a matrix is not positive definite; the team still works.
  virtual Status execute() = 0;

  /// Lets a function that runs on another thread return soon, with an error. The team is of no use after that.
  virtual void abandon() = 0;
};

/// Libraries with which devices of several processes compute together. Thread-safe.
class TeamLibrary {
 public:
  virtual ~TeamLibrary() = default;

  /// The error says which library is missing.
  virtual Status supports(const operation::Operation& operation) const = 0;

  /// For the first member.
  virtual Result<TeamInvitation> invite() const = 0;
  /// Returns when all members have called it. Each has a device of its own.
  virtual Result<std::unique_ptr<Team>> join(const TeamInvitation& invitation, int member, int members) const = 0;
};

/// Whether any such library runs an operation.
bool may_run_in_team(const operation::Operation& operation);

/// NCCL, and the libraries of such operations with the distributed calls for which they are used. Opens them. Empty for
/// a kind of device that has none.
std::vector<Library> team_libraries(const Device& device, const std::string& toolkit_path);

/// The libraries for a device, which must outlive what is returned. `toolkit_path` as in Choice. The error is one line:
/// what is missing, and what to do.
Result<std::unique_ptr<TeamLibrary>> open_team_library(const Device& device, const std::string& toolkit_path);

}  // namespace blastoff::device
