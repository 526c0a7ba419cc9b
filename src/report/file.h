// The file that the report is written to.
#pragma once

#include <string>

#include "report/context.h"

namespace blastoff::report {

/// What `blastoff run` calls this run (BLASTOFF_RUN); "" without it.
const char* this_run();

/// A report path as the user writes it, as a pattern: "-" is standard output, "~/" the home directory, and a directory
/// stands for a file of each process in it.
std::string report_pattern(const std::string& path, const std::string& extension = ".json");

/// The pattern for a forked child: its path has the process id, and the rank where that of the parent has it.
std::string pattern_of_child(const std::string& pattern, const Context& context);

/// Why no report can be written there, as far as can be told before; "" if it can. Creates missing directories.
std::string obstacle_to_report(const std::string& pattern, const Context& context);

/// Expands %p (process id), %r (rank, "0" without MPI), %h (host), %% in a report path. In an MPI job a path without %p
/// or %r gets ".<rank>" before its extension.
std::string expand_path(const std::string& pattern, const Context& context);

/// Where the report of this process would be written, from the root; "" if that is no ordinary file.
std::string report_path(const std::string& pattern, const Context& context);

/// Expands the pattern and writes the file, in a directory that is created if need be. On failure, one line on stderr
/// and false. Never blocks for long, and follows nothing that another user has created (report/special_file.h).
///
/// The file is written completely under a random name and then linked to its own name. If another process of the run
/// that the context names has taken that name, also at the same moment, ".<pid>" is inserted before the extension. Any
/// other file of that name is replaced, and so is what the launcher has written of this process while it was running.
bool write_report(const std::string& pattern, const std::string& text, const Context& context);

/// Puts a file with this content in the place of what has that name, whole or not at all: it is written under another
/// name. Creates missing directories. Silent: false with errno if that fails.
bool replace_file(const std::string& path, const std::string& text);

/// As write_report() for a file that goes on to grow, which is to begin with `text`: its path, or "" without a line on
/// stderr.
std::string begin_file(const std::string& pattern, const std::string& text, const Context& context);

}  // namespace blastoff::report
