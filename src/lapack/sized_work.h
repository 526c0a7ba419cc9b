// The work of a LAPACK call, without a look at most of its arguments.
#pragma once

#include <cstdint>

#include "lapack/routine.h"
#include "operation/operation.h"

namespace blastoff::lapack {

/// Returns the flops and the volume of a call, by the arguments that are enough to recognise a small one. The volume is
/// infinite if more must be looked at: a letter that counts is invalid, there is nothing to compute, or the call asks
/// for the size of the work space. The volume of a row exchange is that of the whole matrix. `words` and
/// `integer_bytes`: as for Call.
operation::Work sized_work(Routine routine, void* const* words, std::uint8_t integer_bytes);

}  // namespace blastoff::lapack
