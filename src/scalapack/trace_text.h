// What a trace tells of a distributed call (docs/predict.md).
#pragma once

#include <string>

#include "operation/operation.h"
#include "scalapack/call.h"

namespace blastoff::scalapack {

/// The call on this process's parts of the matrices, without work: that is in the calls inside it. Nothing can make it.
/// Its arguments() are those of the whole call, which must outlive it.
operation::Operation own_part(const Call& call, const Grid& grid);

/// Letters and sizes, and the blocks of the first matrix: "L n=8000 blocks=256x256".
std::string call_text(const Call& call);

/// A JSON object, after the call. All processes tell which call it was. The root of the grid also tells all that
/// decides whether one process should make such a call for all.
std::string trace_text(const Call& call, const Grid& grid);

}  // namespace blastoff::scalapack
