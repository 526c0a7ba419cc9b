#include "prediction/process.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "decide/family.h"
#include "prediction/hollow_device.h"
#include "report/refusal.h"
#include "residency/footprint.h"
#include "runtime/decision_record.h"
#include "runtime/offload.h"
#include "runtime/routine_choice.h"
#include "runtime/run_history.h"

namespace blastoff::prediction {
namespace {

using operation::Operation;
using report::Refusal;

/// Seconds; a shorter wait is rounding.
constexpr double shortest_wait = 1e-9;

/// Computes nothing, since the device has no memory.
class NoArithmetic final : public operation::Host {
 public:
  bool can_compute(const Operation&) const override { return true; }
  bool compute(const Operation&) const override { return true; }
};

decide::MachineModel start_of(const Machine& machine, const Trace& trace) {
  decide::MachineModel model = machine.model();
  const int cores = machine.file.cores > 0 ? machine.file.cores : trace.cores;
  model.cpu_flops = decide::max_flops_of_a_core * cores;
  return model;
}

/// Seconds to load the kernels of the operation's routine.
double seconds_to_load(const Operation& operation) {
  const auto key = decide::rate_key_of(operation.name());
  const bool svd = key && key->family == decide::Family::gesdd;
  return svd ? runtime::OpenPolicy::seconds_to_load_svd : runtime::OpenPolicy::seconds_to_load;
}

/// Whether the device would have pages moved to its memory, which the CPU then reads there.
bool moves_pages(const config::Settings& settings, const Machine& machine) {
  return machine.access == device::HostAccess::coherent && settings.policy != config::PolicyName::copy &&
         settings.policy != config::PolicyName::coherent;
}

/// Moving pages cannot be replayed; mirrors are used instead.
config::Settings device_settings(config::Settings settings, const Machine& machine) {
  if (machine.access == device::HostAccess::unified && settings.policy != config::PolicyName::copy)
    settings.policy = config::PolicyName::coherent;
  settings.mechanism = config::MechanismName::mirrors;
  return settings;
}

}  // namespace

Process::Process(const Trace& trace, const Machine& machine, const decide::ModelFile* source,
                 const config::Settings& settings, History history, const Job& job, Verdicts& verdicts)
    : trace_(trace),
      machine_(machine),
      moves_(moves_pages(settings, machine)),
      settings_(settings),
      routines_(runtime::chosen_routines(settings.routines)),
      job_(job),
      verdicts_(verdicts),
      cpu_times_(machine, source, trace),
      open_policy_(config::start_mode(settings)),
      models_(settings, open_policy_, start_of(machine, trace)),
      shared_(trace.memory, job.nodes == 1),
      model_of_job_(models_.in_force()) {
  model_of_job_.cpu_rates = cpu_times_.rates();
  open_policy_.expect(machine.open_seconds() + machine.close_seconds());
  if (history == History::gains) open_policy_.foresee(runtime::OpenPolicy::Foresight::gains, 0);
}

tl::expected<void, std::string> Process::add_gpu(Engines& engines, std::size_t memory) {
  auto tracker = std::make_unique<ReplayedTracker>();
  auto* const told = tracker.get();
  residency::FirstUseSettings mirrors;
  mirrors.pins = residency::create_pins(machine_.simulated ? 0 : SIZE_MAX / 2);
  mirrors.fingerprint = [told](const operation::Operand& operand) { return told->fingerprint(operand); };
  auto staging = hollow_staging(machine_, clock_, engines, *tracker);
  auto device = hollow_device(machine_, clock_, engines, memory);
  auto context = runtime::DeviceContext::assemble({.device = std::move(device),
                                                   .staging = std::move(staging),
                                                   .ledger = std::make_shared<ledger::Ledger>(std::move(tracker)),
                                                   .mirrors = mirrors},
                                                  device_settings(settings_, machine_));
  if (!context) return tl::unexpected(context.error().message);
  gpus_.push_back({&engines, told, context->release()});
  chosen_ = &gpus_.front();
  return {};
}

const char* Process::policy() const {
  return gpus_.front().context->policies().front()->name();
}

std::vector<std::uint64_t> Process::peak_memory() const {
  std::vector<std::uint64_t> result;
  for (const Gpu& gpu : gpus_) {
    std::uint64_t bytes = 0;
    for (const device::MemoryClient client : {device::MemoryClient::mirrors, device::MemoryClient::copies})
      bytes += gpu.context->device().accountant().held(client).most;
    result.push_back(bytes);
  }
  return result;
}

void Process::add_copied(std::map<std::string, double>& copied) const {
  for (const Gpu& gpu : gpus_) {
    report::Context context;
    gpu.context->describe(context);
    for (const auto& [reason, calls] : context.copied_operands) copied[reason] += static_cast<double>(calls);
  }
}

double Process::next_start() const {
  return course_.begin_of(trace_.calls[next_]);
}

/// Tells the trackers what happened to memory before the call. Inside a call that a device makes, nothing is written.
void Process::tell(const TracedCall& call, bool inside) {
  for (const Gpu& gpu : gpus_) {
    for (const platform::Span span : call.gone) gpu.tracker->lose(span);
    for (const auto& [span, why] : call.untracked) gpu.tracker->refuse(span, why);
    if (inside) continue;
    for (const platform::Span span : call.written) gpu.tracker->replay_write(span);
    for (const operation::Operand& operand : call.operation.operands())
      if (!operand.empty() && operation::reads(operand.intent))
        gpu.tracker->replay_presence(residency::bounds(operand));
  }
}

std::optional<operation::Estimate> Process::estimate(const Operation& operation) {
  if (!open_at_ || *open_at_ > clock_.now) return std::nullopt;
  auto found = chosen_->context->policies().front()->estimate(operation);
  if (found && moves_) found->moved = found->resident;
  return found;
}

/// Seconds in which all CPUs of the machine read what the operation's matrices have in the device's memory. 0: nothing
/// has moved there, or the rate is not known.
double Process::reading_there(const Operation& operation) {
  const double rate = machine_.model().cpu_device_memory_rate;
  const auto found = moves_ && rate > 0 ? estimate(operation) : std::nullopt;
  return found ? static_cast<double>(found->moved) / rate : 0;
}

/// Chooses the GPU that holds most of the operation's matrices; among equals, the one that is free first.
void Process::choose_gpu(const Operation& operation) {
  if (gpus_.size() == 1) return;
  const auto resident = [&](const Gpu& gpu) {
    const auto found = gpu.context->policies().front()->estimate(operation);
    return found ? found->resident : 0;
  };
  std::uint64_t most = 0;
  for (Gpu& gpu : gpus_) {
    const std::uint64_t there = resident(gpu);
    if (&gpu == &gpus_.front() || there > most || (there == most && gpu.engines->compute < chosen_->engines->compute))
      chosen_ = &gpu;
    most = std::max(most, there);
  }
}

/// Whether the device is open; as Opener::open_for() decides.
bool Process::open(double cpu_seconds) {
  if (lead_seconds_ == 0) lead_seconds_ = clock_.now;
  // A later run opens the device ahead of a first call that comes soon (runtime/run_history.h).
  if (!open_at_ && open_policy_.foresees_gain() && clock_.now <= runtime::longest_lead)
    open_at_ = opening_seconds_ = machine_.open_seconds();
  if (open_at_ && *open_at_ <= clock_.now) return true;
  const auto answer = open_policy_.answer(cpu_seconds, [] { return true; });
  if (answer == runtime::OpenPolicy::Answer::not_yet) return false;
  begin_opening();
  if (answer == runtime::OpenPolicy::Answer::in_background) return false;
  clock_.wait_until(*open_at_);
  return true;
}

void Process::begin_opening() {
  if (open_at_) return;
  opening_seconds_ = machine_.open_seconds();
  open_at_ = clock_.now + opening_seconds_;
}

/// Whether the kernels of the operation's routine are loaded; as Opener::ready_for() decides.
bool Process::ready(const Operation& operation, double cpu_seconds) {
  if (machine_.simulated) return true;
  std::optional<double>& at = ready_at_[operation.routine()];
  if (at) return *at <= clock_.now;
  const bool waits = open_policy_.waits_for_kernels(cpu_seconds);
  const double loads = seconds_to_load(operation);
  if (waits) loading_ = loads;
  if (!std::exchange(begun_, true)) loading_ += runtime::OpenPolicy::seconds_to_begin;
  at = clock_.now + (waits ? 0 : loads);
  return waits;
}

Refusal Process::judge(const Operation& operation) {
  if (operation.work.volume < models_.decider().floor_volume()) return Refusal::below_min_size;
  if (!routines_.contains(operation.routine())) return Refusal::left_out;
  if (operation.has_several_results && trace_.is_rank && job_.ranks > 1 && !routines_.names(operation.routine()))
    return Refusal::several_results;
  choose_gpu(operation);
  const Refusal refusal = models_.decider().judge(operation, *this);
  if (refusal != Refusal::none) return refusal;
  const double cpu_seconds = models_.expected_cpu_seconds(operation);
  return open(cpu_seconds) && ready(operation, cpu_seconds) ? Refusal::none : Refusal::not_open;
}

/// The trace holds the program's own writes only. So this marks the result of a call as written for all other GPUs,
/// whose mirrors of these pages are out of date.
void Process::results_written(const Operation& operation, const Gpu* by) {
  operation.each_result([&](std::size_t, const operation::Operand& result) {
    for (const Gpu& gpu : gpus_) {
      if (&gpu == by) continue;
      residency::each_touched_run(result, [&](platform::Span run) { gpu.tracker->replay_write(run); });
    }
  });
}

bool Process::make_on_device(const TracedCall& call, RoutinePrediction& sums, Refusal& why) {
  const Operation& operation = call.operation;
  const double before = clock_.now;
  const double computed = chosen_->engines->computed;
  report::Record record;
  const double loading = std::exchange(loading_, 0);
  clock_.now += loading + machine_.call_seconds(operation);
  why = runtime::offload(*chosen_->context, operation, NoArithmetic{}, record);
  if (why != Refusal::none) return false;
  const double seconds = clock_.now - before - loading;
  const double work = machine_.call_seconds(operation) + chosen_->engines->computed - computed;
  const double moving = seconds - work > shortest_wait ? seconds - work : 0;
  record.traffic.transfer_seconds = moving;
  at_end_.emplace(clock_.now, [this, &operation, seen = runtime::observation_of(record, seconds)] {
    models_.decider().observe(operation, seen);
  });
  results_written(operation, chosen_);
  sums.on_device += call.weight;
  sums.replaced_seconds += call.weight * cpu_times_.predicted(call);
  sums.device_seconds += loading + call.weight * seconds;
  sums.moving_seconds += call.weight * moving;
  sums.bytes_to_device += call.weight * static_cast<double>(record.traffic.bytes_to_device);
  sums.bytes_from_device += call.weight * static_cast<double>(record.traffic.bytes_from_device);
  sums.bytes_reused += call.weight * static_cast<double>(record.traffic.bytes_reused);
  const double size = std::cbrt(operation.work.volume);
  sums.min_size = sums.min_size > 0 ? std::min(sums.min_size, size) : size;
  return true;
}

void Process::make_on_cpu(const TracedCall& call, Refusal why, RoutinePrediction& sums) {
  const double in_host_memory = cpu_times_.predicted(call);
  const double seconds = std::max(in_host_memory, reading_there(call.operation));
  const double elapsed = cpu_times_.predicted_elapsed(call) + seconds - in_host_memory;
  const bool counts = why == Refusal::not_open && call.start >= postponed_until_;
  at_end_.emplace(clock_.now + elapsed, [this, &call, why, counts, seconds, elapsed] {
    if (why != Refusal::below_min_size) models_.decider().observe(call.operation, {.seconds = elapsed});
    if (counts)  // calls inside add their own
      open_policy_.add_spent({.seconds = seconds}, runtime::OpenPolicy::added_by_this_thread());
  });
  clock_.now += seconds;
  sums.cpu_seconds += call.weight * seconds;
  results_written(call.operation, nullptr);
}

/// What a call takes, the decider learns only when the call is over: calls of other threads may begin before.
void Process::learn_until(double time) {
  const auto later = at_end_.upper_bound(time);
  for (auto ended = at_end_.begin(); ended != later; ++ended) ended->second();
  at_end_.erase(at_end_.begin(), later);
}

void Process::step(Prediction& prediction) {
  const TracedCall& call = trace_.calls[next_++];
  const double more = call.weight - 1;  // calls for which this one stands too; their times change as much
  const bool inside = call.start < inside_until_[call.thread];
  end_together(call.start, prediction);
  tell(call, inside);
  if (call.distributed) return make_distributed(call, prediction);
  std::optional<runtime::OpenPolicy::PostponedCall> postponed;
  if (call.start < postponed_until_) postponed.emplace();
  RoutinePrediction& sums = prediction.routines[call.operation.name()];
  const double traced = cpu_times_.traced(call);
  const double on_cpu = call.start + call.seconds.value_or(call.elapsed);
  const double later = traced - (on_cpu - call.start);
  traced_course_.finish(call, on_cpu, traced_course_.begin_of(call) + traced + more * later);
  sums.calls += call.weight;
  sums.traced_seconds += call.weight * traced;
  if (inside) return;
  clock_.now = course_.begin_of(call);
  const double begin = clock_.now;
  learn_until(begin);
  Refusal why = judge(call.operation);
  const bool done = why == Refusal::none && make_on_device(call, sums, why);
  if (!done) {
    make_on_cpu(call, why, sums);
    prediction.refusals[report::refusal_text(why)] += call.weight;
  }
  const double end = done ? call.start + call.elapsed : on_cpu;
  if (done) inside_until_[call.thread] = end;
  course_.finish(call, end, clock_.now + more * (clock_.now - begin - (end - call.start)));
}

}  // namespace blastoff::prediction
