// What a report says about the run besides its totals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../include/blastoff_blocks.h"
#include "operation/traffic.h"
#include "platform/results_gauge.h"
#include "report/cpu.h"
#include "report/decisions.h"
#include "report/earlier_run.h"
#include "report/timeline.h"

namespace blastoff::report {

/// An object whose BLAS functions were patched, or not.
struct PatchedObject {
  std::string path;    ///< "" for the program
  double seconds = 0;  ///< that finding and patching them took
  std::vector<std::string> patched;
  std::vector<std::pair<std::string, std::string>> refused;     ///< function, why
  std::vector<std::pair<std::string, std::string>> left_alone;  ///< function with a BLAS name, the rule
};

/// Routines that are not intercepted, and that an object of the process calls or may call.
struct UnseenFamily {
  std::string family;    ///< "MKL's FFT"
  std::string function;  ///< one of them
  std::string object;    ///< path; "" for the program
};

/// A routine that is only counted (--count).
struct CountedRoutine {
  std::string family;  ///< "level 1", "level 2", "PBLAS"
  std::string name;    ///< "dcopy"
  std::uint64_t calls = 0;
  double seconds = 0;      ///< wall time, summed over threads
  double own_seconds = 0;  ///< of these, without counted and recorded calls inside it
};

/// How calls were intercepted.
struct Interception {
  std::string mode;              ///< "auto", "patch", "preload"
  std::size_t objects_seen = 0;  ///< objects that were searched for BLAS functions
  double seconds = 0;            ///< that searching and patching took
  std::vector<PatchedObject> objects;
  std::vector<UnseenFamily> unseen;     ///< set at the end, or if somebody asks
  std::vector<CountedRoutine> counted;  ///< the one with most time of its own first
};

/// What the allocator library has done with large blocks (include/blastoff_allocator.h, blastoff_placement).
struct Allocation {
  std::uint64_t placed_blocks = 0, placed_bytes = 0;
  std::uint64_t bound_blocks = 0, bound_bytes = 0;
  std::uint64_t left_blocks = 0, left_bytes = 0;
  int node = -1;
  std::string unbound;
  std::string owner;
};

/// Device memory that one user of it (a client) holds.
struct HeldMemory {
  std::string client;            ///< "mirrors"
  std::uint64_t bytes = 0;       ///< now
  std::uint64_t bytes_peak = 0;  ///< the most so far
};

/// A device, and what its calls have done if there are several.
struct DeviceUse {
  std::string name;                 ///< "" if it was never opened
  int index = -1;                   ///< among the devices of its kind
  std::string bus;                  ///< its place on the bus, as the kernel writes it
  std::string state;                ///< "not started", "working", or why it is unusable
  std::uint64_t memory = 0;         ///< bytes
  std::uint64_t memory_budget = 0;  ///< bytes that matrices may occupy
  std::uint64_t memory_peak = 0;    ///< the most bytes that they have occupied
  std::uint64_t calls = 0;          ///< that ran on this device alone
  std::uint64_t parts = 0;          ///< of calls that were split
  double flops = 0;
  double seconds = 0;  ///< wall time, summed over calls and parts
  operation::TrafficCounters traffic = {};
};

/// When the device was opened, and how long that took, in seconds.
struct DeviceOpening {
  double after = 0;       ///< since the library was loaded
  double seconds = 0;     ///< that opening took
  double closing = 0;     ///< by which the process is expected to end later, after its report
  bool foreseen = false;  ///< opened at the first call or before, because earlier runs of the program gained
};

/// What a report contains besides its totals.
struct Context {
  std::string run;  ///< name that `blastoff run` gave to the run, the same for all of its processes; "" without it
  std::string program;
  std::string command_line;
  std::string host;
  std::string kernel;
  std::string huge_pages;  ///< transparent huge pages: "always", "madvise", "never"; "" if the kernel has none
  int pid = 0;
  int rank = -1;               ///< -1: no MPI
  double started = 0;          ///< when the library was loaded, in seconds since 1970
  double elapsed_seconds = 0;  ///< since `started`
  double cost_seconds = 0;     ///< part of them that Blastoff has taken outside calls: patching, waiting at the end
  std::optional<EarlierRun> cpu_run;  ///< of the same command on the CPU, if one is known
  std::string ended = "exit";         ///< "": the process still runs
  bool device_used = false;
  std::string device_kind;         ///< a name of device/kinds.def, or "none"
  DeviceUse device;                ///< the first one
  bool device_concurrent = false;  ///< see device::Properties
  std::string device_software;
  std::optional<DeviceOpening> device_opening;  ///< nullopt if it was never opened
  std::string device_absence;                   ///< of a summary: device::absence(), if there is no device to use
  std::vector<HeldMemory> held_memory;          ///< on the device, by client
  std::vector<DeviceUse> devices;               ///< if there are several
  std::string machine_model;                    ///< name and path of the model from which decisions started
  std::string policy_requested;                 ///< "first-use"
  std::string policy;                           ///< in force
  std::string policy_reason;                    ///< why it is not the requested one, or ""
  std::string results_reason;                   ///< why results go home that were to stay, or ""
  std::string policy_asked;                     ///< the policy to which the reason refers: "first-use by moves"
  std::string mechanism;     ///< of the policy: "mirrors", "moves", "prefetch", "none", "copies", "" without a device
  std::string tracker;       ///< what notices writes, or freed memory: "uffd", "none"
  int memory_node = -1;      ///< NUMA node of the device's memory
  bool pages_moved = false;  ///< the policy moves pages to that node; then:
  std::uint64_t placed_bytes = 0;                                 ///< bytes of used matrices that lie on that node
  std::uint64_t moved_bytes = 0;                                  ///< bytes of these that lay elsewhere before
  std::vector<std::pair<std::string, std::uint64_t>> left_bytes;  ///< matrices that lie elsewhere: why, bytes
  double moving_seconds = 0;
  std::optional<blastoff_blocks_counters> blocks;  ///< nullopt if no block was used
  std::optional<Allocation> allocation;            ///< nullopt if the allocator library is not loaded
  Interception interception;
  std::optional<Cpu> cpu;         ///< set at the end, or if somebody asks
  platform::ResultsFate results;  ///< what became of results that had stayed on a device
  std::vector<std::pair<std::string, std::uint64_t>>
      copied_operands;                                        ///< why calls under first-use were copied: reason, calls
  std::vector<Decisions> decisions;                           ///< with --explain; those that took most time first
  Timeline timeline;                                          ///< with --report
  std::vector<std::pair<std::string, std::string>> settings;  ///< every option: name, value in force
};

}  // namespace blastoff::report
