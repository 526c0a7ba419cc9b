// Whether a program can run with a preloaded library, checked before it starts.
#pragma once

#include <string>

#include "launcher/failure.h"

namespace blastoff::launcher {

/// Finds the file that would be executed, in PATH as the shell does.
Expected<std::string> find_program(const std::string& name);

/// Why the dynamic linker would not preload into this program; "" if it would, or if that is unknown. Scripts pass,
/// since what they start inherits LD_PRELOAD. The error is that of a broken file.
Expected<std::string> why_not_preloadable(const std::string& program);

}  // namespace blastoff::launcher
