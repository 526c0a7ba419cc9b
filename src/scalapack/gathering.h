// One process of the grid makes a distributed call for all processes. The matrices are gathered on that process, and
// the results are distributed again: through memory that all share if they run on one node, else by messages. Until
// the problem has been solved, nothing is written to the program's memory, so all processes can still make the call
// together.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/worker_pool.h"
#include "scalapack/consent.h"
#include "scalapack/functions.h"
#include "scalapack/problem.h"
#include "scalapack/segment.h"
#include "scalapack/team.h"

namespace blastoff::scalapack {

/// How the matrices go from process to process.
enum class Transport : std::uint8_t { messages, memory };

/// The decisions and the work of a process of a grid: of its root, where nothing else is said.
class Root {
 public:
  /// Whether the processes are to know each other whatever becomes of this call.
  virtual bool insists() const = 0;
  /// Whether such calls may be gathered, now or once more is known. Answers at once.
  virtual bool hopes(const GatheredProblem& problem, const Grid& grid, Transport transport) = 0;

  /// Whether it is expected to pay, and the problem can be solved here now. May open the device.
  /// `segment` as in solve().
  virtual bool wants(const GatheredProblem& problem, const Grid& grid, Segment* segment) = 0;
  /// The processes that are to make the call that it wants.
  virtual Team team() const = 0;
  /// Whether this process can make the call alone.
  virtual bool can_alone() const = 0;
  /// Where no memory is shared: whether it depends on the number of members there may be. It may want the call once it
  /// has heard it.
  virtual bool asks_for_members() const = 0;
  virtual void has_members(int members) = 0;
  /// The devices that this process may use for a team, on any process.
  virtual SeenDevices seen_devices() = 0;

  /// If the root does not want a call: whether it may want later ones of the same class, since the device is not open
  /// yet or nobody knows how long all processes take for them.
  virtual bool postpones() = 0;
  /// If the root does not want a call: how many later calls of the same class it will not want either.
  virtual std::uint32_t silence(const Call& call) = 0;

  /// Workers for copying so many bytes between this process's memory and the segment, on any process; nullptr: none.
  virtual std::unique_ptr<platform::WorkerPool> workers_to_copy(std::size_t bytes) = 0;
  /// All processes have copied their elements of a matrix of so many bytes from the segment, which took the root so
  /// many seconds.
  virtual void copied(double bytes, double seconds) = 0;
  /// These bytes of the segment have changed since the last call was solved.
  virtual void changed(std::byte* begin, std::size_t bytes) = 0;
  /// Calls the local routine. Returns false if the problem was not solved. `segment`: where the problem lies; nullptr:
  /// in memory of its own.
  virtual bool solve(const GatheredProblem& problem, Segment* segment) = 0;
  /// A member of a team does its part of a call. All members call it; all of them get the same outcome. `device`: the
  /// number of this member's device.
  virtual TeamOutcome make_in_team(const GatheredProblem& problem, TeamWords& words, const Team& team, int member,
                                   int device, const TeamMatrices& matrices) = 0;

 protected:
  ~Root() = default;
};

enum class Outcome : std::uint8_t {
  distributed,          ///< nothing has been done: the original must be called
  postponed,            ///< the same, but later calls like this one may be gathered
  gathered,             ///< all results are in place
  gathered_by_several,  ///< the same; a team has made the call
  reported,             ///< the original has found and reported wrong arguments
};

/// Called by all processes of the grid together, in place of the original, for a call that may be gathered.
Outcome gather(const Call& call, void* original, const Functions& functions, const Grid& grid, Root& root,
               const Willingness& own);

}  // namespace blastoff::scalapack
