// Whether the value of an option can be used, beyond its form: files and directories must be there, and texts of the
// simulated device must be understood.
#pragma once

#include <string>

#include "config/options.h"

namespace blastoff::launcher {

/// Why a value that the option table accepts cannot be used; "" if it can.
std::string obstacle_to(const config::Option& option, const std::string& value);

}  // namespace blastoff::launcher
