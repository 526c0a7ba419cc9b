#include "prediction/replay.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "prediction/process.h"
#include "runtime/run_history.h"

namespace blastoff::prediction {
namespace {

/// Ranks that were not traced behave like those that were.
const Trace& trace_of(const std::vector<Trace>& traces, std::size_t rank) {
  return traces[rank % traces.size()];
}

/// Scales the sums to the number of processes that were traced.
void scale(Prediction& prediction, double factor) {
  for (auto& [name, routine] : prediction.routines)
    for (double* const sum : {&routine.calls, &routine.on_device, &routine.traced_seconds, &routine.cpu_seconds,
                              &routine.device_seconds, &routine.moving_seconds, &routine.replaced_seconds,
                              &routine.bytes_to_device, &routine.bytes_from_device, &routine.bytes_reused})
      *sum *= factor;
  for (auto& [call, sums] : prediction.distributed)
    for (double* const sum :
         {&sums.calls, &sums.gathered, &sums.by_several, &sums.traced_seconds, &sums.predicted_seconds})
      *sum *= factor;
  for (auto& [reason, calls] : prediction.refusals) calls *= factor;
}

void add_up(Prediction& prediction, const std::vector<Process*>& processes, std::size_t traced) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const Process& process = *processes[i];
    prediction.traced_seconds = std::max(prediction.traced_seconds, process.traced_end());
    prediction.predicted_seconds = std::max(prediction.predicted_seconds, process.end());
    prediction.opening_seconds = std::max(prediction.opening_seconds, process.opening_seconds());
    prediction.lead_seconds = std::max(prediction.lead_seconds, process.lead_seconds());
    prediction.cpu_scaled = prediction.cpu_scaled || process.cpu_times().scaled();
    if (i >= traced) continue;
    process.add_copied(prediction.copied);
    for (const std::uint64_t bytes : process.peak_memory()) prediction.peak_memory.push_back(bytes);
  }
  prediction.policy = processes.front()->policy();
}

}  // namespace

tl::expected<Prediction, std::string> replay(const std::vector<Trace>& traces, const Machine& machine,
                                             const decide::ModelFile* source, const Layout& layout,
                                             const config::Settings& settings, History history) {
  // Each group of ranks has its own GPUs; the last group is filled up with more ranks.
  const auto share = static_cast<std::size_t>(layout.ranks_per_gpu);
  const std::size_t ranks = (traces.size() + share - 1) / share * share;
  std::set<std::string> hosts;
  for (const Trace& trace : traces) hosts.insert(trace.host);
  const Job job{
      .ranks = ranks, .nodes = static_cast<int>(hosts.size()), .gpus = static_cast<int>(ranks / share) * layout.gpus};
  auto& verdicts = *new std::vector<Verdicts>((ranks + traces.size() - 1) / traces.size());
  std::vector<Process*> processes;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    processes.push_back(
        new Process(trace_of(traces, rank), machine, source, settings, history, job, verdicts[rank / traces.size()]));
    if (!processes.back()->cpu_times().known())
      return tl::unexpected(std::string("the trace holds no seconds of the CPU: take it with --device none"));
  }
  std::vector<Engines>& engines = *new std::vector<Engines>(ranks / share * static_cast<std::size_t>(layout.gpus));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t gpu = 0; gpu < static_cast<std::size_t>(layout.gpus); ++gpu) {
      Engines& its = engines[rank / share * static_cast<std::size_t>(layout.gpus) + gpu];
      if (auto added = processes[rank]->add_gpu(its, machine.memory / share); !added)
        return tl::unexpected(added.error());
    }
  Prediction prediction;
  for (;;) {
    // A rank that waits for another one's decision comes last.
    const auto order = [](const Process& process) {
      return std::pair(process.waits_for_verdict(), process.next_start());
    };
    Process* next = nullptr;
    for (Process* const process : processes)
      if (!process->over() && (next == nullptr || order(*process) < order(*next))) next = process;
    if (next == nullptr) break;
    next->step(prediction);
  }
  for (Process* const process : processes) process->end_together(std::numeric_limits<double>::infinity(), prediction);
  scale(prediction, static_cast<double>(traces.size()) / static_cast<double>(ranks));
  add_up(prediction, processes, traces.size());
  return prediction;
}

bool opens_at_once(const Prediction& later, double price) {
  runtime::RunTimes times;
  for (const auto& [name, routine] : later.routines) {
    times.cpu += routine.replaced_seconds;
    times.device += routine.device_seconds;
  }
  times.opening = price;
  times.lead = later.lead_seconds;
  return runtime::foresight(times, {.own = price, .job = price}) == runtime::OpenPolicy::Foresight::gains;
}

}  // namespace blastoff::prediction
