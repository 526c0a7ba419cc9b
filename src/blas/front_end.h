// The BLAS front end: converts BLAS calls to operations, and back.
#pragma once

#include "blas/call.h"
#include "operation/front_end.h"

namespace blastoff::blas {

operation::FrontEnd& front_end();

/// Returns the operation of a call. call_of() converts it, or a piece of it, back to a call.
operation::Operation operation_of(const Call& call);
bool is_blas(const operation::Operation& operation);
/// Only for BLAS operations. The call has the operands of the operation.
Call call_of(const operation::Operation& operation);

/// Returns the number of a routine among the routines of all front ends.
operation::RoutineId id_of(Routine routine);

}  // namespace blastoff::blas
