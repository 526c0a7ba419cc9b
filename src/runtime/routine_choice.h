// The routines that may run on the device, by the setting.
#pragma once

#include <string>

#include "config/routine_choice.h"

namespace blastoff::runtime {

/// By operation::RoutineId. If the list has an error, prints it and chooses all routines.
config::RoutineChoice chosen_routines(const std::string& list);

}  // namespace blastoff::runtime
