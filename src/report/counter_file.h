// The counters of a process in a file, which another process can read at any time, also after this one has been killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/memory_gauge.h"

namespace blastoff::report {

/// From now on the counters of this process lie in a file of this directory, which belongs to the run, or of the one on
/// disk to which it has a link (report/run_space.h). Called once, when the library is loaded. Without such a directory,
/// or without room in both, they lie in memory of the process.
void keep_counters_in(const char* directory);

/// For a process without a launcher, before its first count: its counters lie beside the report until that takes their
/// place, so that a process which is killed has left something. `report`: where it will be written. What an earlier
/// run has left there goes. Nothing happens where counters are kept already, or where there is no room for a directory.
void keep_counters_beside(const std::string& report);

/// How the directory beside a report is called: the report, and this.
inline constexpr char counters_beside[] = ".counters";

/// The report has been written.
void drop_counters_beside();

/// Whether all counters lie in a file.
bool counters_are_kept();

/// Whether somebody will report them at the end: there is a launcher, which has not removed the file yet.
bool run_goes_on();

/// What has been intercepted so far.
struct Interceptors {
  std::uint32_t objects = 0;    ///< looked at
  std::uint32_t functions = 0;  ///< found in them
};
void keep_interceptors(const Interceptors& interceptors);

/// The numbers that others read: in the counter file, or in the process where it has none. For as long as it lives.
platform::MemoryGauge& memory_gauge();

/// The directory of keep_counters_in(), or "": there the processes of a run meet.
const char* run_directory();

/// The report as it is now, for what the counters do not tell: program, settings, device, policy. It lies beside the
/// counters.
void keep_description(const std::string& report);

/// The process ends, and its counts are complete.
void keep_end();

/// Memory of the file, zeros; nullptr if there is none. Callable from any thread, also in a forked child: makes system
/// calls only.
void* space_in_counter_file();

/// Likewise, at the end of another file of the process, whose name has that extension. Not for two threads at once.
void* space_beside_counters(const char* extension, std::size_t bytes);

/// For the child of a fork: the file is the parent's. The child makes one of its own at its first call. False if there
/// is no file.
bool leave_counter_file();

/// What a gauge shows.
struct KeptMemory {
  std::uint64_t device, mirrored, pinned, staged, to_device, from_device;  ///< as in platform::MemoryGauge
};

/// The gauge of the process whose counter file this descriptor reads; nothing if it is none, or is of another version
/// of this library.
std::optional<KeptMemory> memory_of_counter_file(int file);

/// The report of the process whose counter file this is, with its counts as they are now (share/report.schema.json);
/// "" if the file is not one, or was made by another version of this library. `process.ended` is "exit" if the process
/// has said so, else "".
std::string report_of_counter_file(const std::string& path);

/// Removes the files of that process, which has ended.
void remove_counter_file(const std::string& path);

}  // namespace blastoff::report
