// One process of a trace on the machine: its sessions, its decisions, its threads.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decide/decider.h"
#include "operation/front_end.h"
#include "prediction/cpu_times.h"
#include "prediction/replay.h"
#include "prediction/replayed_tracker.h"
#include "prediction/timeline.h"
#include "runtime/opening.h"
#include "runtime/session.h"

namespace blastoff::prediction {

/// Never destroyed, like the sessions in it.
class Process final : public operation::Estimator {
 public:
  Process(const Trace& trace, const Machine& machine, const decide::ModelFile* source,
          const config::Settings& settings);

  /// A GPU that it may use. `memory`: its share, in bytes. The error is one line.
  tl::expected<void, std::string> add_gpu(Engines& engines, std::size_t memory);

  bool over() const { return next_ == trace_.calls.size(); }
  /// When the next call begins. Seconds.
  double next_start() const;
  /// Makes the next call, and adds it to the sums.
  void step(Prediction& prediction);

  /// When the program ends, after the last call.
  double end() const { return trace_.elapsed + shift_; }
  double traced_end() const { return trace_.elapsed + baseline_shift_; }
  double opening_seconds() const { return opening_seconds_; }
  const CpuTimes& cpu_times() const { return cpu_times_; }
  const char* policy() const;
  std::vector<std::uint64_t> peak_memory() const;
  void add_copied(std::map<std::string, double>& copied) const;

  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override;

 private:
  struct Gpu {
    Engines* engines;
    ReplayedTracker* tracker;
    runtime::Session* session;
  };
  struct Thread {
    double busy_until = 0;         ///< by its predicted calls
    double traced_busy_until = 0;  ///< likewise as traced
    double inside_until = 0;       ///< in traced time: of a call that went to a device with all calls inside it
  };
  void tell(const TracedCall& call);
  double begin_of(const TracedCall& call) const;
  void choose_gpu(const operation::Operation& operation);
  report::Refusal verdict_on(const operation::Operation& operation);
  bool open(const operation::Operation& operation);
  bool ready(const operation::Operation& operation);
  bool make_on_device(const TracedCall& call, RoutinePrediction& sums, report::Refusal& why);
  void make_on_cpu(const TracedCall& call, report::Refusal why, RoutinePrediction& sums);
  void results_written(const operation::Operation& operation, const Gpu* by);

  const Trace& trace_;
  const Machine& machine_;
  const config::Settings& settings_;
  const CpuTimes cpu_times_;
  decide::MachineModel model_;  ///< what decisions start from
  std::unique_ptr<decide::Decider> decider_;
  runtime::Opening opening_;
  std::optional<double> open_at_;  ///< nothing: the device is not being opened
  std::array<std::optional<double>, operation::most_routines> ready_at_{};
  Clock clock_;
  std::vector<Gpu> gpus_;
  Gpu* chosen_ = nullptr;
  std::size_t next_ = 0;
  std::map<int, Thread> threads_;
  std::map<double, double> shifts_;  ///< traced end of a call -> how much later it ended, as predicted
  double shift_ = 0;                 ///< of the last one to end
  double last_end_ = 0;
  double baseline_shift_ = 0;  ///< a simulated CPU's seconds are not those of the trace
  double opening_seconds_ = 0;
};

}  // namespace blastoff::prediction
