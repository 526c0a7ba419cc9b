// Finds out which ranks of a grid can take part in gathering. A job may have Blastoff loaded in some ranks only, or on
// one node of several, so this never waits for a rank without Blastoff.
//
// All messages hold one number, have tags of our own, and go from or to the root of the grid. When the root wants to
// gather for the first time, it greets each rank with the number of that call. At this call and every later one it
// sends a word: whether the call is gathered. A rank that has received the greeting answers once. Then it receives one
// word for each call, beginning with the call of the greeting: the root is certain to send them. The root says yes only
// if all ranks have answered. If they have not after a few calls, it stops sending. Messages to a rank without Blastoff
// are never received.
#pragma once

#include <chrono>
#include <memory>

#include "scalapack/functions.h"
#include "scalapack/segment.h"

namespace blastoff::scalapack {

/// What the processes of a grid have once they know each other. It ends with the grid.
struct Meeting {
  bool over = false;                   ///< they have tried to share a segment
  std::unique_ptr<Segment> segment{};  ///< nullptr: they do not share one
  void* communicator = nullptr;
};
Meeting& meeting_of(const Functions& functions, const Grid& grid);

/// Whether all processes of the grid will gather this call. All processes get the same answer. Each process with
/// Blastoff asks at every call that may be gathered and is worth asking, until they share a segment. `wanted`: on the
/// root, whether it wants to gather. `patience`: at the first call of a grid, how long to wait for the greeting or the
/// answers.
bool all_gather(const Functions& functions, const Grid& grid, bool wanted, std::chrono::duration<double> patience);

}  // namespace blastoff::scalapack
