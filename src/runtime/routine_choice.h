// The routines that may run on the device, by the setting.
#pragma once

#include <string>

#include "config/routine_choice.h"

namespace blastoff::runtime {

/// By operation::RoutineId. The error says which name is that of no routine.
tl::expected<config::RoutineChoice, std::string> read_routines(const std::string& list);

/// The same. If the list has an error, prints it and chooses all routines.
config::RoutineChoice chosen_routines(const std::string& list);

}  // namespace blastoff::runtime
