// `blastoff run`: checks everything first, starts the program, and attends it until it has ended.
#pragma once

#include <optional>

#include "launcher/command_line.h"
#include "launcher/failure.h"
#include "launcher/installation.h"

namespace blastoff::launcher {

/// Runs the program of the command line, and ends this process in the way in which the program ended. Returns why
/// nothing was started. `python`: the Python to use, if one was chosen.
Failure run(const CommandLine& line, const std::optional<Python>& python);

}  // namespace blastoff::launcher
