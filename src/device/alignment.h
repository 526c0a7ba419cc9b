// The alignment that Queue::execute requires of operands.
#pragma once

#include "device/error.h"
#include "operation/operation.h"

namespace blastoff::device {

/// unsupported if an operand does not start at a multiple of its element size. A GPU reads whole elements, and a
/// misaligned one would destroy the context. (Fortran places complex numbers at multiples of 8 in a common block.)
Status check_alignment(const operation::Operation& operation);

}  // namespace blastoff::device
