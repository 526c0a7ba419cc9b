#include "prediction/cpu_times.h"

namespace blastoff::prediction {
namespace {

decide::MachineModel cpu_of(const decide::ModelFile& file, int threads) {
  decide::MachineModel model;
  if (const auto* const rates = file.cpu_rates_on(threads)) model.cpu_rates = *rates;
  if (threads >= file.cores) model.cpu_memory_rate = file.cpu_memory_rate;
  return model;
}

struct Sum {
  double seconds = 0;
  double flops = 0;
  double ratio() const { return flops > 0 ? seconds / flops : 0; }
};

}  // namespace

CpuTimes::CpuTimes(const Machine& machine, const decide::ModelFile* source, const Trace& trace) : machine_(machine) {
  std::map<operation::RoutineId, Sum> sums;
  Sum all;
  for (const TracedCall& call : trace.calls) {
    has_calls_ = has_calls_ || !call.distributed;
    if (!call.seconds || call.distributed) continue;
    for (Sum* const sum : {&sums[call.operation.routine()], &all}) {
      sum->seconds += *call.seconds;
      sum->flops += call.operation.work.flops;
    }
  }
  for (const auto& [routine, sum] : sums) seconds_per_flop_[routine] = sum.ratio();
  fallback_ = all.ratio();
  if (machine.simulated || machine.file.cpu_rates.empty()) return;
  // A process that left cores idle would leave cores idle on the machine, too.
  const int threads = trace.threads < trace.cores ? trace.threads : machine.file.cores;
  there_ = cpu_of(machine.file, threads);
  if (source == nullptr || source->cpu_rates.empty()) return;
  here_ = cpu_of(*source, trace.threads);
  scaled_ = true;
}

double CpuTimes::traced(const TracedCall& call) const {
  const double flops = call.operation.work.flops;
  if (machine_.simulated) return machine_.simulated->cpu_seconds(flops);
  if (call.seconds) return *call.seconds;
  const auto found = seconds_per_flop_.find(call.operation.routine());
  return flops * (found == seconds_per_flop_.end() ? fallback_ : found->second);
}

double CpuTimes::ratio(const TracedCall& call) const {
  if (!scaled_) return 1;
  const double here = here_.cpu_seconds_of(call.operation);
  const double there = there_.cpu_seconds_of(call.operation);
  return here > 0 && there > 0 ? there / here : 1;
}

double CpuTimes::predicted(const TracedCall& call) const {
  return traced(call) * ratio(call);
}

double CpuTimes::predicted_elapsed(const TracedCall& call) const {
  if (machine_.simulated || !call.seconds) return predicted(call);
  return call.elapsed * ratio(call);
}

}  // namespace blastoff::prediction
