// Writes the report to its file.
#pragma once

#include <string>

#include "report/context.h"

namespace blastoff::report {

/// The name that `blastoff run` gave to this run (BLASTOFF_RUN); "" without it.
const char* this_run();

/// Replaces "~" at the beginning of a path by the home directory.
std::string with_home(const std::string& path);

/// Turns a report path as the user writes it into a pattern: "-" is standard output, "~/" is the home directory, and a
/// directory stands for one file for each process in it.
std::string report_pattern(const std::string& path, const std::string& extension = ".json");

/// The pattern for a forked child: adds the process id, and the rank if the parent's path has it.
std::string pattern_of_child(const std::string& pattern, const Context& context);

/// Why no report can be written there, as far as that can be told in advance; "" if it can. Creates missing
/// directories.
std::string obstacle_to_report(const std::string& pattern, const Context& context);

/// Expands %p (process id), %r (rank, "0" without MPI), %h (host), %% in a report path. In an MPI job a path without %p
/// or %r gets ".<rank>" before its extension.
std::string expand_path(const std::string& pattern, const Context& context);

/// Absolute path where the report of this process would be written; "" if that is no ordinary file.
std::string report_path(const std::string& pattern, const Context& context);

/// Expands the pattern and writes the file, in a directory that is created if need be. On failure, prints one line on
/// stderr and returns false. Never blocks for long, and follows nothing that another user has created
/// (report/special_file.h).
///
/// The file is written completely under a random name and then linked to its own name. If another process of the run
/// that `context` names has taken that name, even at the same moment, ".<pid>" is inserted before the extension. Any
/// other file of that name is replaced, also the report that the launcher has written of this process while it was
/// running.
bool write_report(const std::string& pattern, const std::string& text, const Context& context);

/// Replaces the file at `path` by one with this content, in one step: it is written under another name first. Creates
/// missing directories. On failure returns false, with errno, and prints nothing.
bool replace_file(const std::string& path, const std::string& text);

/// As write_report(), for a file that will grow and begins with `text`. Returns its path; on failure "", and prints
/// nothing.
std::string begin_file(const std::string& pattern, const std::string& text, const Context& context);

}  // namespace blastoff::report
