// Whether the value of an option can be used, beyond its form: files and directories must be there, and texts of the
// simulated device must be understood.
#pragma once

#include <string>
#include <string_view>

#include "config/options.h"

namespace blastoff::launcher {

/// Why a value that the option table accepts cannot be used; "" if it can.
std::string obstacle_to(const config::Option& option, const std::string& value);

/// Why the file cannot be read; "" if it can.
std::string obstacle_to_file(const std::string& path);

/// Whether the word is in the first MiB of the file.
bool mentions(const std::string& path, std::string_view word);

}  // namespace blastoff::launcher
