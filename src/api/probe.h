// What works on this machine, for `blastoff doctor`.
#pragma once

#include <string>

#include "config/settings.h"

namespace blastoff::api {

/// Opens the device that the settings name and the page tracker, tries both, and says what came of it, as JSON:
///   blastoff   version
///   system     kernel, glibc, cpus (of the process's CPU set), local_rank, global_rank (null without MPI)
///   device     requested, works, error (one line, "" if it works), and if it works kind, name, index, by_server,
///   exclusive, software,
///              total_memory, free_memory (bytes), can_reserve, can_pin, host_access ("none", "pageable", "coherent",
///              "unified"), memory_node (the NUMA node that its memory is, or null)
///   memory     page_size, huge_page_size (bytes), transparent_huge_pages ("always", ...), automatic_numa_balancing,
///              nodes: id, bytes, free_bytes, has_cpus, allowed
///   tracker    works, error, and if it works name
///   patching   works, error: whether code can be made and written, as patching functions takes
///   settings   name -> value in force
/// May take some tenths of a second. For a process of its own: a device, once open, stays open.
std::string probe_json(const config::Settings& settings);

}  // namespace blastoff::api
