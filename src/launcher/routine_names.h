// The names of all routines that the library may offload, as reports give them.
#pragma once

#include <string>
#include <vector>

namespace blastoff::launcher {

std::vector<std::string> routine_names();

}  // namespace blastoff::launcher
