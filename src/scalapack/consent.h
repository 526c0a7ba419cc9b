// Finds out which ranks of a grid can take part in gathering. A job may have Blastoff loaded in some ranks only, or on
// one node of several, so this never waits for a rank without Blastoff.
//
// When the root may want to gather for the first time, it greets each rank with the number of that call. At this call
// and every later one it sends a word: whether all ranks take part. A rank that has received the greeting answers once,
// whether it takes part. It does if it is like the root. Then it receives one word for each call, beginning with the
// call of the greeting: the root is certain to send them. The root says yes once all ranks have answered. If a rank
// does not take part, or has not answered after a few calls, the root stops sending. Messages to a rank without
// Blastoff are never received.
//
// These few messages hold one number and have tags of our own. They go from or to the root, on the communicator that
// BLACS has made for itself, for messages between processes. A communicator of our own takes all ranks to make, and
// whether all have Blastoff is not known before: MPI_Comm_dup never returns where one of them does not call it, and
// MPI has no other way to a process than a communicator of the program or of BLACS. Once all take part they make one,
// for all messages of ours.
#pragma once

#include <chrono>
#include <memory>

#include "scalapack/functions.h"
#include "scalapack/members_across.h"
#include "scalapack/segment.h"

namespace blastoff::scalapack {

/// What the processes of a grid have once all take part. It ends with the grid.
struct Meeting {
  bool complete = false;               ///< all processes take part
  void* communicator = nullptr;        ///< a duplicate of BLACS's
  int ranks = 0;                       ///< of the communicator
  int context = -1;                    ///< see own_context()
  bool segment_tried = false;          ///< they have tried to share one
  std::unique_ptr<Segment> segment{};  ///< nullptr: they do not share one
  PlaceBook places{};                  ///< on the root: what lies where in it
  bool places_in_doubt = false;        ///< on the root: others may have changed what lies there, and it does not know
  Silence silence{};                   ///< if they do not
  std::unique_ptr<MembersAcross> members{};  ///< the same; nullptr: not found yet
};
Meeting& meeting_of(const Functions& functions, const Grid& grid);

/// How a process takes part.
struct Willingness {
  /// How long to wait at the first call of a grid, for the greeting or for the answers.
  std::chrono::duration<double> patience{};
  int likeness = 0;  ///< a hash of the settings that all processes must have alike to ask at the same calls
};

/// Whether all processes of the grid take part, from this call on. All processes get the same answer. Each process with
/// Blastoff asks at every call that may be gathered and is worth asking, until the meeting is complete. `wanted`: on
/// the root, whether it may want to gather.
bool all_take_part(const Functions& functions, const Grid& grid, bool wanted, const Willingness& own);

/// BLACS's number of a grid of one row on the communicator of the meeting. The first time, all processes call it
/// together.
int own_context(const Functions& functions, Meeting& meeting);

}  // namespace blastoff::scalapack
