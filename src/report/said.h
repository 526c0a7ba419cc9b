// Messages that all processes of a run would print alike.
#pragma once

#include <string>

namespace blastoff::report {

/// The file in the directory of a run that holds what its processes have said.
inline constexpr char said_file[] = "said";

/// Prints a line, unless another process of this run has printed it on this node.
void tell_run(const std::string& message);

}  // namespace blastoff::report
