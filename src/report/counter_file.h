// The counters of a process in a file, which another process can read at any time, also after this one has been killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace blastoff::report {

/// From now on the counters of this process lie in a file of this directory, which belongs to the run. Called once,
/// when the library is loaded. Without such a directory, or without room in it, they lie in memory of the process.
void keep_counters_in(const char* directory);

/// Whether all counters lie in a file, so that others report them.
bool counters_are_kept();

/// Whether somebody will report them at the end: the launcher has not removed the file yet.
bool run_goes_on();

/// What has been intercepted so far.
struct Interceptors {
  std::uint32_t objects = 0;    ///< looked at
  std::uint32_t functions = 0;  ///< found in them
};
void keep_interceptors(const Interceptors& interceptors);

/// Device memory that is held now.
void keep_device_memory(std::uint64_t bytes);

/// The report as it is now, for what the counters do not tell: program, settings, device, policy. It lies beside the
/// counters.
void keep_description(const std::string& report);

/// The process ends, and its counts are complete.
void keep_end();

/// Memory of the file, zeros; nullptr if there is none. Callable from any thread, also in a forked child: makes system
/// calls only.
void* space_in_counter_file();

/// Likewise, of another file of the process, whose name has that extension. To be called once for each extension.
void* space_beside_counters(const char* extension, std::size_t bytes);

/// For the child of a fork: the file is the parent's. The child makes one of its own at its first call. False if there
/// is no file.
bool leave_counter_file();

/// The report of the process whose counter file this is, with its counts as they are now (share/report.schema.json);
/// "" if the file is not one, or was made by another version of this library. `process.ended` is "exit" if the process
/// has said so, else "".
std::string report_of_counter_file(const std::string& path);

}  // namespace blastoff::report
