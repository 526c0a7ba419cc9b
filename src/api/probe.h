// Tries what works on this machine, for `blastoff doctor`.
#pragma once

#include <string>

#include "config/settings.h"

namespace blastoff::api {

/// Opens the devices that the settings name and the page tracker, tries them, and returns the results as JSON:
///   blastoff   version
///   system     kernel, glibc, cpus (of the process's CPU set), local_rank, global_rank (null without MPI)
///   memory     page_size, huge_page_size (bytes), transparent_huge_pages ("always", ...), automatic_numa_balancing,
///              nodes: id, bytes, free_bytes, has_cpus, allowed
///   device     the first device: requested, works, error (one line, "" if it works); if it works also kind, name,
///              index, by_server, exclusive, libraries, team_libraries (for distributed calls on several GPUs),
///              software, total_memory, free_memory (bytes), can_reserve, can_pin, host_access ("none", "pageable",
///              "coherent", "unified"), memory_node (the NUMA node that is the device's memory, or null)
///   other_devices   the same for the other devices
///   tracker    works, error; if it works also name
///   patching   works, error: whether code can be made and written, as is needed to patch functions
///   settings   name -> value in force
/// May take some tenths of a second. To be called in a process of its own: a device stays open after it was opened.
std::string probe_json(const config::Settings& settings);

}  // namespace blastoff::api
