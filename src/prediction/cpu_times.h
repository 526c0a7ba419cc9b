// What calls take on the CPU of a machine, derived from their traced times.
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

  /// False if the trace has calls and none of them ran on the CPU, so that nothing is known.
  bool known() const { return machine_.simulated || fallback_ > 0 || !has_calls_; }

  /// Whether predicted times differ from the traced ones.
  bool scaled() const { return scaled_; }

  /// Rates of the predicted machine's CPU; empty if they are not known.
  const decide::RateTable& rates() const { return there_.cpu_rates; }

  /// Seconds on the machine of the trace: as measured, or by the rate of the routine's other calls.
  double traced(const TracedCall& call) const;

  /// Seconds on the predicted machine, without the calls inside the call.
  double predicted(const TracedCall& call) const;

  /// Seconds on the predicted machine, with the calls inside the call.
  double predicted_elapsed(const TracedCall& call) const;

 private:
  /// Seconds on the predicted machine over seconds on the machine of the trace.
  double ratio(const TracedCall& call) const;

  const Machine& machine_;
  bool scaled_ = false;
  decide::MachineModel here_;   ///< CPU rates of the trace's machine
  decide::MachineModel there_;  ///< CPU rates of the predicted machine
  std::map<operation::RoutineId, double> seconds_per_flop_;
  bool has_calls_ = false;
  double fallback_ = 0;  ///< seconds per operation over all routines
};

}  // namespace blastoff::prediction
