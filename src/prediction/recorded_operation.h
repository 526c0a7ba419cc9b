// Makes operations from the lines of a trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operation/operation.h"

namespace blastoff::prediction {

/// The part of a call's line that describes the operation.
struct Description {
  std::string routine;
  std::string arguments;
  operation::Work work;
  std::uint64_t shape = 0;
  bool may_fail = false;
  std::vector<operation::Operand> operands{};
};

/// nullopt if this version does not know the routine or the form of its operands. A call of BLAS can be cut as in the
/// program; other operations are not cut in the program either.
std::optional<operation::Operation> operation_of(const Description& description);

}  // namespace blastoff::prediction
