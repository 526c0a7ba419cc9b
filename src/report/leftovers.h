// The directory beside a report that holds the counters of processes without a launcher: making it, and removing what
// an earlier run has left there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/living.h"

namespace blastoff::report {

/// Makes the directory if it is not there. Returns whether it is one that only this user can read.
bool make_private_directory(const std::string& path);

/// Whether a file in this directory stays usable for processes that have mapped it, even if somebody removes it. Over
/// NFS and the like, a page fault in such a file may end the process.
bool keeps_removed_files(const char* directory);

/// The process that made the file of that name. Names are PID-MADE-NUMBER-NAMESPACE.EXTENSION; nullopt for any other.
std::optional<platform::ProcessName> maker_of(std::string_view name);

/// Whether the process that made the counter file of that name, on this machine, still runs. A process of another
/// namespace of process ids counts as running, since that cannot be known here.
bool is_of_living_process(const std::string& name);

/// Removes the files in the directory if all of their processes have ended. Files that another host is said to have
/// made stay.
void remove_if_left(const std::string& directory);

}  // namespace blastoff::report
