// One process of a trace on the predicted machine: its devices, its decisions, its threads. distributed_calls.cpp has
// the calls that all ranks of a grid make.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/routine_choice.h"
#include "decide/gathering.h"
#include "operation/front_end.h"
#include "prediction/course.h"
#include "prediction/cpu_times.h"
#include "prediction/placed_call.h"
#include "prediction/replay.h"
#include "prediction/replayed_tracker.h"
#include "prediction/timeline.h"
#include "runtime/device_context.h"
#include "runtime/models.h"
#include "runtime/open_policy.h"
#include "scalapack/gathering.h"

namespace blastoff::prediction {

/// What the first rank of a grid has decided about a call that all ranks make.
struct Verdict {
  scalapack::Outcome outcome = scalapack::Outcome::distributed;
  double seconds = 0;  ///< of all ranks, if it is gathered
};

/// The ranks of one job share them.
class Verdicts {
 public:
  void add(std::uint32_t number, const Verdict& verdict) { by_number_[number].push_back(verdict); }
  /// The verdict about a call with this number, before which there were `earlier` ones; nullptr: not yet decided.
  const Verdict* find(std::uint32_t number, std::size_t earlier) const {
    const auto found = by_number_.find(number);
    return found == by_number_.end() || found->second.size() <= earlier ? nullptr : &found->second[earlier];
  }

 private:
  std::map<std::uint32_t, std::vector<Verdict>> by_number_;
};

/// What the processes of a job know of each other.
struct Job {
  std::size_t ranks = 1;
  int nodes = 1;
  int gpus = 1;  ///< of all nodes
};

/// Never destroyed, like the devices that it owns.
class Process final : public operation::Estimator {
 public:
  Process(const Trace& trace, const Machine& machine, const decide::ModelFile* source, const config::Settings& settings,
          History history, const Job& job, Verdicts& verdicts);

  /// Adds a GPU that the process may use. `memory`: the process's share, in bytes. The error is one line.
  tl::expected<void, std::string> add_gpu(Engines& engines, std::size_t memory);

  bool over() const { return next_ == trace_.calls.size(); }
  /// When the next call begins, in seconds.
  double next_start() const;
  /// Whether the next call is one about which another rank decides, and has not decided yet.
  bool waits_for_verdict() const;
  /// Makes the next call, and adds it to the sums.
  void step(Prediction& prediction);
  /// Ends distributed calls that all ranks have made together until this time of the trace.
  void end_together(double traced, Prediction& prediction);

  /// When the program has ended, after the last call.
  double end() const { return course_.end_of(trace_.elapsed) + (open_at_ ? machine_.close_seconds() : 0); }
  /// When the program ends if the CPU of the trace makes all calls.
  double traced_end() const { return traced_course_.end_of(trace_.elapsed); }
  double opening_seconds() const { return opening_seconds_; }
  double lead_seconds() const { return lead_seconds_; }
  const CpuTimes& cpu_times() const { return cpu_times_; }
  const char* policy() const;
  std::vector<std::uint64_t> peak_memory() const;
  void add_copied(std::map<std::string, double>& copied) const;

  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override;

 private:
  struct Gpu {
    Engines* engines;
    ReplayedTracker* tracker;
    runtime::DeviceContext* context;
  };
  void tell(const TracedCall& call, bool inside);
  void choose_gpu(const operation::Operation& operation);
  report::Refusal judge(const operation::Operation& operation);
  bool open(double cpu_seconds);
  void begin_opening();
  bool ready(const operation::Operation& operation, double cpu_seconds);
  bool make_on_device(const TracedCall& call, RoutinePrediction& sums, report::Refusal& why);
  double reading_there(const operation::Operation& operation);
  void make_on_cpu(const TracedCall& call, report::Refusal why, RoutinePrediction& sums);
  void learn_until(double time);
  /// A distributed call of which this process is the first rank.
  struct Whole {
    const TracedCall* call;
    std::unique_ptr<PlacedCall> placed;  ///< nullptr: one rank cannot make it for all
    int ranks = 1;
    double moving = 0;       ///< seconds in which the matrices go from rank to rank, there and back
    int members = 1;         ///< that make it with a GPU each
    bool postponed = false;  ///< the device would gain if it were open
    double begin = 0;

    decide::WholeCall judged() const { return {.solve = placed->solve, .ranks = ranks, .moving = moving}; }
  };
  void make_distributed(const TracedCall& call, Prediction& prediction);
  Verdict lead(const TracedCall& call, Prediction& prediction);
  report::Refusal judge_whole(Whole& whole);
  bool pays(const Whole& whole) const;
  void open_beside();
  report::Refusal solve(Whole& whole, RoutinePrediction& sums);
  void results_written(const operation::Operation& operation, const Gpu* by);

  const Trace& trace_;
  const Machine& machine_;
  const bool moves_;
  const config::Settings& settings_;
  const config::RoutineChoice routines_;
  const Job job_;
  Verdicts& verdicts_;
  const CpuTimes cpu_times_;
  runtime::OpenPolicy open_policy_;
  runtime::Models models_;
  std::optional<double> open_at_;  ///< nullopt: nobody opens the device yet
  std::array<std::optional<double>, operation::max_routines> ready_at_{};
  double loading_ = 0;  ///< seconds that the next call on the device takes once: for kernels, and for the first call
  bool begun_ = false;  ///< there was a first call on the device
  std::multimap<double, std::function<void()>> at_end_;  ///< what the decider learns when a call ends
  Clock clock_;
  std::vector<Gpu> gpus_;
  Gpu* chosen_ = nullptr;
  std::size_t next_ = 0;
  SharedPlaces shared_;
  decide::GatheringRule rule_;
  decide::MachineModel model_of_job_;             ///< with the CPU's rates if they are known: for distributed calls
  std::map<std::uint32_t, std::size_t> earlier_;  ///< calls of other ranks' grids, by their numbers
  std::deque<TracedCall> solutions_;              ///< of gathered problems
  std::deque<Whole> together_;                    ///< that all ranks are making
  double postponed_until_ = 0;          ///< in traced time: calls until then do not open the device, nor count for that
  std::map<int, double> inside_until_;  ///< by thread, in traced time: a device makes a call with all calls inside it
  Course course_;
  Course traced_course_;  ///< times of a simulated CPU differ from the trace's
  double opening_seconds_ = 0;
  double lead_seconds_ = 0;
};

}  // namespace blastoff::prediction
