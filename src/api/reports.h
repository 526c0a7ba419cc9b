// Writes reports of other processes, for the `blastoff` command.
#pragma once

#include <string>

namespace blastoff::api {

/// Returns {"pattern": the value for BLASTOFF_REPORT, "obstacle": why no report can be written there, or ""}.
std::string report_path_json(const std::string& path);

/// Writes a report of another process, under the name that this process would have used itself, or, with `of_child`, as
/// a child of the program. Returns false after a line on stderr.
bool write_report(const std::string& pattern, const std::string& report, bool of_child);

}  // namespace blastoff::api
