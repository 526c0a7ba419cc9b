// Level-3 BLAS as a front end: its calls as operations, and back.
#pragma once

#include "blas/call.h"
#include "operation/front_end.h"

namespace blastoff::blas {

operation::FrontEnd& level3();

/// The operation of a call. call_of() returns the call again, or a piece of it.
operation::Operation operation_of(const Call& call);
bool is_level3(const operation::Operation& operation);
/// Only for level-3 operations. The operands are those of the operation.
Call call_of(const operation::Operation& operation);

/// The number of a routine among those of all front ends.
operation::RoutineId id_of(Routine routine);

}  // namespace blastoff::blas
