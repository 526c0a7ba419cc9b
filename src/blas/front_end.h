// BLAS as a front end: its calls as operations, and back.
#pragma once

#include "blas/call.h"
#include "operation/front_end.h"

namespace blastoff::blas {

operation::FrontEnd& front_end();

/// The operation of a call. call_of() returns the call again, or a piece of it.
operation::Operation operation_of(const Call& call);
bool is_blas(const operation::Operation& operation);
/// Only for BLAS operations. The operands are those of the operation.
Call call_of(const operation::Operation& operation);

/// The number of a routine among those of all front ends.
operation::RoutineId id_of(Routine routine);

}  // namespace blastoff::blas
