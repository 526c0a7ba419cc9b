// For a program that switches Blastoff on and off while it runs.
#pragma once

#include <string>

namespace blastoff::api {

/// False: another copy of the library acts in this process, or it has elevated rights, and nothing has changed.
bool switch_on();
void switch_off();
bool is_on();

/// The report of this process, and its counts alone, as they are now: JSON.
std::string report_now();
std::string counts_now();

/// Names and values of all settings: those in force, or those of the environment. "": none are in force yet.
std::string settings_json(bool in_force);

}  // namespace blastoff::api
