// Operations from what a trace says of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operation/operation.h"

namespace blastoff::prediction {

/// A call's line, as far as it describes the operation.
struct Description {
  std::string routine;
  std::string arguments;
  operation::Work work;
  std::uint64_t shape = 0;
  bool may_fail = false;
  std::vector<operation::Operand> operands;
};

/// Nothing for a routine, or operands of one, that this version does not know. A call of BLAS can be cut as in the
/// program; others are not cut there either.
std::optional<operation::Operation> operation_of(const Description& description);

}  // namespace blastoff::prediction
