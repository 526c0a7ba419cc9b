// The directory beside a report, in which the counters of processes without a launcher lie: making it, and removing
// what an earlier run has left there.
#pragma once

#include <string>

namespace blastoff::report {

/// Whether there is a directory of that name that only this user can read, made if need be.
bool make_private_directory(const std::string& path);

/// Removes the files in it if all processes that they are of have ended.
void remove_if_left(const std::string& directory);

}  // namespace blastoff::report
