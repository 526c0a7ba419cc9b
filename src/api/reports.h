// Reports of other processes, for the `blastoff` command.
#pragma once

#include <string>

namespace blastoff::api {

/// {"pattern": what to set BLASTOFF_REPORT to, "obstacle": why no report can be written there, or ""}.
std::string report_path_json(const std::string& path);

/// Writes a report of another process, as that process would have, or as a child of the program's would: false after a
/// line on stderr.
bool write_report(const std::string& pattern, const std::string& report, bool of_child);

}  // namespace blastoff::api
