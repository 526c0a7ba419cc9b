// What Queue::execute asks of operands.
#pragma once

#include "device/error.h"
#include "operation/operation.h"

namespace blastoff::device {

/// unsupported where an operand does not start at a multiple of its element size: a GPU reads whole elements, and one
/// across its natural boundary would cost the context. (Fortran lays complex numbers at multiples of 8 in a common
/// block.)
Status check_alignment(const operation::Operation& operation);

}  // namespace blastoff::device
