// Level-3 BLAS as a front end: its calls as operations, and back.
#pragma once

#include "blas/call.h"
#include "operation/front_end.h"

namespace blastoff::blas {

operation::FrontEnd& level3();

/// What call_of() gives back: the same call, or a piece of it.
operation::Operation operation_of(const Call& call);
bool is_level3(const operation::Operation& operation);
/// Of a level-3 operation alone; the operands are the operation's.
Call call_of(const operation::Operation& operation);

/// The number of a routine among those of all front ends.
operation::RoutineId id_of(Routine routine);

}  // namespace blastoff::blas
