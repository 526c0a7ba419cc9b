// Traces on a machine that is not there: the calls take the road of runtime/ through decision and residency, and the
// device, its memory and its time are made up.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "config/settings.h"
#include "prediction/machine.h"
#include "prediction/trace.h"

namespace blastoff::prediction {

/// How the processes meet the machine.
struct Layout {
  int gpus = 1;           ///< that each process uses; calls go where their matrices are
  int ranks_per_gpu = 1;  ///< that share its memory and its time
};

/// Sums over the calls of a routine, those of all processes together. Seconds.
struct RoutinePrediction {
  double calls = 0;
  double on_device = 0;
  double traced_seconds = 0;  ///< of the CPU on the machine of the trace
  double cpu_seconds = 0;     ///< of the calls that stay there
  double device_seconds = 0;  ///< of the others, moving included
  double moving_seconds = 0;  ///< of these, in which a call waits for data
  double bytes_to_device = 0, bytes_from_device = 0, bytes_reused = 0;
  double least_size = 0;  ///< average size of the smallest call on the device; 0: none
};

struct Prediction {
  double traced_seconds = 0;     ///< of the program, as it was; of the longest process
  double predicted_seconds = 0;  ///< likewise on this machine
  double opening_seconds = 0;    ///< of these, until the device was open
  std::string policy;            ///< in force: "first-use"
  bool cpu_scaled = false;       ///< the CPU's seconds are those of the machine's own CPU
  std::map<std::string, RoutinePrediction> routines;
  std::map<std::string, double> refusals;  ///< why calls stay on the CPU -> calls
  std::map<std::string, double> copied;    ///< why operands do not stay on the device -> calls
  std::vector<std::uint64_t> peak_memory;  ///< bytes that mirrors and copies took, by process and GPU
};

/// `source`: the CPU on which the traces were taken, or nullptr where no model describes it: then the CPU's seconds are
/// those of the traces. The error is one line.
tl::expected<Prediction, std::string> replay(const std::vector<Trace>& traces, const Machine& machine,
                                             const decide::ModelFile* source, const Layout& layout,
                                             const config::Settings& settings);

}  // namespace blastoff::prediction
