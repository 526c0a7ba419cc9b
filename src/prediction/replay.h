// Replays traces on a machine that need not exist. The calls go through runtime/, decision and residency as in a run;
// the device, its memory and its time are imitated.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "config/settings.h"
#include "prediction/machine.h"
#include "prediction/trace.h"

namespace blastoff::prediction {

/// How the processes share the GPUs.
struct Layout {
  int gpus = 1;           ///< number that each process uses; calls go where their matrices are
  int ranks_per_gpu = 1;  ///< number of ranks that share a GPU's memory and time
};

/// Sums over the calls of a routine, of all processes together. Times are in seconds.
struct RoutinePrediction {
  double calls = 0;
  double on_device = 0;
  double traced_seconds = 0;    ///< on the CPU of the machine of the trace
  double cpu_seconds = 0;       ///< of the calls that stay on the CPU
  double device_seconds = 0;    ///< of the calls on the device, moving included
  double moving_seconds = 0;    ///< part of device_seconds in which calls wait for data
  double replaced_seconds = 0;  ///< what the CPU would take for the calls on the device
  double bytes_to_device = 0, bytes_from_device = 0, bytes_reused = 0;
  double min_size = 0;  ///< average size of the smallest call on the device; 0: none
};

/// Sums over the calls that all ranks of a grid made together, if they are alike.
struct DistributedPrediction {
  std::shared_ptr<const RecordedCall> call;  ///< one of them
  double calls = 0;                          ///< once a job
  double gathered = 0;                       ///< that one rank makes for all, or several
  double by_several = 0;                     ///< of these, that several ranks make with a GPU each
  int gpus = 1;                              ///< of these
  double traced_seconds = 0;                 ///< with the calls inside them, on the first rank of the grid
  double predicted_seconds = 0;
};

struct Prediction {
  double traced_seconds = 0;     ///< of the longest process, as it was traced
  double predicted_seconds = 0;  ///< of the longest process, on this machine
  double opening_seconds = 0;    ///< part of these until the device was open
  double lead_seconds = 0;       ///< until the first call that was worth the device; 0: there was none
  std::string policy;            ///< in force: "first-use"
  bool cpu_scaled = false;       ///< the CPU's seconds are scaled to the machine's own CPU
  std::map<std::string, RoutinePrediction> routines;
  std::map<std::string, DistributedPrediction> distributed;  ///< by routine, arguments and grid
  std::map<std::string, double> refusals;                    ///< why calls stay on the CPU -> calls
  std::map<std::string, double> copied;                      ///< why operands do not stay on the device -> calls
  std::vector<std::uint64_t> peak_memory;                    ///< bytes that mirrors and copies took, by process and GPU
};

/// What the program's run history tells (runtime/run_history.h).
enum class History : std::uint8_t {
  none,   ///< a first run: the device is opened when the program has lost about as much without it
  gains,  ///< a later run, which knows that the device gains more than opening it takes
};

/// `source`: the CPU on which the traces were taken; nullptr if no model describes it, then the CPU's seconds are those
/// of the traces. The error is one line.
tl::expected<Prediction, std::string> replay(const std::vector<Trace>& traces, const Machine& machine,
                                             const decide::ModelFile* source, const Layout& layout,
                                             const config::Settings& settings, History history);

/// Whether a later run would open the device at once: by the rule of the run history, with the times of a replay with
/// History::gains.
bool opens_at_once(const Prediction& later, double price);

}  // namespace blastoff::prediction
