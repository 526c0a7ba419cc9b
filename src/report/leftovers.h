// The directory beside a report, in which the counters of processes without a launcher lie: making it, and removing
// what an earlier run has left there.
#pragma once

#include <cstdint>
#include <string>

namespace blastoff::report {

/// Whether there is a directory of that name that only this user can read, made if need be.
bool make_private_directory(const std::string& path);

/// Whether a file there stays what it is for those who have it in memory, whoever removes it. Over NFS and the like, a
/// page fault of such a file may end the process.
bool keeps_removed_files(const char* directory);

/// The namespace of process ids in which this process is; 0 if that cannot be known.
std::uint64_t pid_namespace();

/// Whether the process of a counter file of that name, made on this machine, still runs. One of another namespace of
/// process ids counts as running, since nobody here knows.
bool is_of_living_process(const std::string& name);

/// Removes the files in it if all processes that they are of have ended. What is said to be of another host stays.
void remove_if_left(const std::string& directory);

}  // namespace blastoff::report
