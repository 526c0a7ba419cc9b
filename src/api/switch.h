// Switches Blastoff on and off while a program runs.
#pragma once

#include <string>

namespace blastoff::api {

/// Returns false if another copy of the library is active in this process, or the process has elevated rights; then
/// nothing has changed.
bool switch_on();
void switch_off();
bool is_on();

/// report_now(): the report of this process as JSON, as of now. counts_now(): only its counts.
std::string report_now();
std::string counts_now();

/// Returns names and values of all settings: those in force, or those of the environment. "": no settings are in force
/// yet.
std::string settings_json(bool in_force);

}  // namespace blastoff::api
