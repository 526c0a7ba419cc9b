// What calls take on the CPU of a machine, from what they took where the trace was taken.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "prediction/machine.h"
#include "prediction/trace.h"

namespace blastoff::prediction {

class CpuTimes {
 public:
  /// `source` as in replay().
  CpuTimes(const Machine& machine, const decide::ModelFile* source, const Trace& trace);

  /// False: no call of the trace ran on the CPU, and nothing is known.
  bool known() const { return machine_.simulated || fallback_ > 0; }

  /// Whether it differs from the trace.
  bool scaled() const { return scaled_; }

  /// On the machine of the trace: as measured, or as other calls of the routine were.
  double traced(const TracedCall& call) const;

  /// On the machine.
  double predicted(const TracedCall& call) const;

  /// Likewise, with the calls inside the call.
  double predicted_elapsed(const TracedCall& call) const;

 private:
  /// Of seconds on the machine to those of the trace.
  double ratio(const TracedCall& call) const;

  const Machine& machine_;
  bool scaled_ = false;
  decide::MachineModel here_;   ///< rates of the CPU of the trace
  decide::MachineModel there_;  ///< and of the machine's
  std::map<operation::RoutineId, double> seconds_per_flop_;
  double fallback_ = 0;  ///< of all routines
};

}  // namespace blastoff::prediction
