// The counters of a process in a file, which another process can read at any time, also after this one has been killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/memory_gauge.h"
#include "platform/results_gauge.h"

namespace blastoff::report {

/// Puts the counters of this process into a file in `directory`, which belongs to the run, or in the directory on disk
/// to which `directory` has a link (report/run_space.h). Called once, when the library is loaded. Without such a
/// directory, or without room in both, the counters lie in memory of the process.
void keep_counters_in(const char* directory);

/// For a process without a launcher, before its first count: puts its counters into a directory beside the report. The
/// report replaces them when it is written, so a process that is killed leaves its counters. `report`: path where the
/// report will be written. Removes what an earlier run has left in the directory. Does nothing if the counters are kept
/// already, or if no directory can be made.
void keep_counters_beside(const std::string& report);

/// The directory's name is the report's name with this ending.
inline constexpr char counters_beside[] = ".counters";

/// Removes the counters, since the report has been written.
void drop_counters_beside();

/// Whether all counters lie in a file.
bool counters_are_kept();

/// Whether somebody will report the counters at the end: there is a launcher, and it has not yet removed the file.
bool run_goes_on();

/// What has been intercepted so far.
struct Interceptors {
  std::uint32_t objects = 0;    ///< searched
  std::uint32_t functions = 0;  ///< found in them
};
void keep_interceptors(const Interceptors& interceptors);

/// The numbers that other processes read: in the counter file, or in memory of the process if it has no file. Valid as
/// long as the process lives.
platform::MemoryGauge& memory_gauge();
platform::ResultsGauge& results_gauge();

/// The directory that keep_counters_in() was given, where the processes of a run meet; "" if there is none.
const char* run_directory();

/// Writes the report as it is now beside the counters. It holds what the counters do not: program, settings, device,
/// policy.
void keep_description(const std::string& report);

/// Marks that the process ends, with complete counts.
void keep_end();

/// Zeroed memory in the counter file for the counters of one thread; nullptr if there is no room. Callable from any
/// thread, also in a forked child: makes system calls only.
void* space_in_counter_file();

/// Zeroed memory of `bytes` at the end of another file of the process, whose name has that extension; nullptr if there
/// is no room. Makes system calls only. For one thread at a time.
void* space_beside_counters(const char* extension, std::size_t bytes);

/// For the child of a fork: leaves the file to the parent. The child makes one of its own at its first call. Returns
/// false if there is no file.
bool leave_counter_file();

/// The numbers of a memory gauge.
struct KeptMemory {
  std::uint64_t device, mirrored, pinned, staged, to_device, from_device;  ///< as in platform::MemoryGauge
};

/// The gauge of the process whose counter file the descriptor `file` reads; nullopt if the file is not one, or is from
/// another version of this library.
std::optional<KeptMemory> memory_of_counter_file(int file);

/// The report of the process whose counter file this is, with its counts as they are now (share/report.schema.json). ""
/// if the file is not one, or was made by another version of this library. `process.ended` is "exit" if the process
/// called keep_end(), else "".
std::string report_of_counter_file(const std::string& path);

/// Removes all files of the process that had this counter file, and has ended.
void remove_counter_file(const std::string& path);

}  // namespace blastoff::report
