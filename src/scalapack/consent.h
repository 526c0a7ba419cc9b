// Which ranks of a grid can take part in gathering, learnt without ever waiting for a rank in which Blastoff is not
// loaded: a job may have it in some ranks only, or on one node of several.
//
// All messages are of one number, with tags of our own, from or to the root of the grid. When the root wants to gather
// for the first time, it greets each rank with the number of that call, and at this and every later call sends its
// word: whether the call is gathered. A rank that has heard the greeting answers, once, and receives one word for each
// call since, those of earlier calls first: the root is going to send them. The root says yes only if all ranks have
// answered, and falls silent if they have not after a few calls. What is sent to a rank without Blastoff is never
// received.
#pragma once

#include <chrono>

#include "scalapack/functions.h"

namespace blastoff::scalapack {

/// Whether all processes of the grid are to gather this call: the same answer on all. Each process with Blastoff asks
/// at every call of order least_order or more that is no query. `wanted`: on the root, whether it would. `patience`: at
/// the first call of a grid, how long to wait for the others' greeting or answers.
bool all_gather(const Functions& functions, const Grid& grid, bool wanted, std::chrono::duration<double> patience);

}  // namespace blastoff::scalapack
