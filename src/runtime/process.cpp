#include "runtime/process.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include <unistd.h>

#include "device/driver_sharing.h"
#include "device/kinds.h"
#include "device/open.h"
#include "intercept/cpu_libraries.h"
#include "intercept/installation.h"
#include "intercept/loading/library_observer.h"
#include "intercept/unseen_families.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/stopwatch.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/counter_file.h"
#include "report/decisions.h"
#include "report/recorder.h"
#include "report/timeline.h"
#include "runtime/callers_environment.h"
#include "runtime/loading.h"
#include "runtime/routine_choice.h"
#include "runtime/settled_calls.h"

namespace blastoff::runtime {

namespace {

using report::Refusal;
using Clock = std::chrono::steady_clock;

std::atomic<bool> forked{false};
std::atomic<bool> exiting{false};
std::atomic<bool> switched_off{false};  // by the program, until it switches the device on again
std::atomic<Process*> the_process{nullptr};

// Calls of this thread that are using the device. A handler of a synchronous signal may run inside them.
[[gnu::tls_model("initial-exec")]] constinit thread_local int own_calls_in_flight = 0;

// A child that was forked before the first BLAS call only has to drop the counts of its parent.
void become_forked_child() {
  platform::after_fork_in_child();
  platform::contained([] { report::reset(); });
  begin_new_term();
  if (the_process.load() == nullptr || forked.exchange(true)) return;
  own_calls_in_flight = 0;
}

/// For the timeline of a report: a page can show about as many bars.
constexpr std::size_t max_timed_calls = 4096;

void end_without_report() {
  platform::log_line("out of memory: the summary and the report are not written");
  report::keep_end();
}

/// Returns the Process to report. If no call was made, there is one only if the counts lack what the program computes.
Process* process_to_report() {
  if (Process* const process = Process::existing()) return process;
  bool lacking = false;
  if (report::counters_are_kept()) platform::contained([&] { lacking = !intercept::unseen_families().empty(); });
  return lacking ? Process::try_instance() : nullptr;
}

[[gnu::destructor]] void unload() {
  const platform::CancellationDisabled no_cancellation;
  exiting = true;
  Process* const process = process_to_report();
  if (process == nullptr) return report::keep_end();
  if (!platform::contained([&] { process->end(); })) end_without_report();
}

/// Rates of the simulated device's own clock. Errors in the setting are reported when the device is opened.
std::optional<device::simulated::Rates> rates_of(const config::Settings& settings) {
  const auto kind = device::find_kind(settings.device);
  const bool simulated = kind && kind->kind->name == "simulated";
  const auto rates = device::simulated::parse_rates(simulated ? settings.simulated_rates : "");
  return rates ? *rates : std::nullopt;
}

/// The CPU's share is assumed, since ranks that share a node compute at the same time.
decide::MachineModel assumed_model() {
  decide::MachineModel model;
  model.cpu_flops = decide::max_flops_of_a_core * platform::cpu_share();
  return model;
}

/// The least size if size decides. A trace without a device records every call that a device could speed up.
std::int64_t usual_min_size(const config::Settings& settings, const decide::MachineModel& model) {
  const bool traces_only = settings.device == "none" && !settings.trace.empty();
  return traces_only ? std::llround(std::cbrt(model.floor_volume())) : decide::usual_min_size;
}

std::unique_ptr<decide::Decider> create_decider(const config::Settings& settings, const decide::MachineModel& model) {
  return config::decide_by(settings) == config::DecideBy::time
             ? decide::by_time(settings.min_size, model)
             : decide::by_size_and_depth(settings.min_size.value_or(usual_min_size(settings, model)));
}

}  // namespace

std::atomic<double> floor_volume{-std::numeric_limits<double>::infinity()};
std::atomic<double> followed_floor_volume{-std::numeric_limits<double>::infinity()};

Process* Process::try_instance() {
  Process* const process = the_process.load(std::memory_order_acquire);
  return process != nullptr ? process : create();
}

Process& Process::instance() {
  if (Process* const process = try_instance()) return *process;
  throw std::bad_alloc();
}

Process* Process::existing() {
  return the_process.load(std::memory_order_acquire);
}

bool Process::inside_a_call() {
  return own_calls_in_flight > 0 || platform::is_own_thread();
}

bool Process::was_forked() {
  return forked;
}

bool Process::is_exiting() {
  return exiting;
}

void Process::begin_child() {
  become_forked_child();
  Tracing::begin_child();
}

// Signals are blocked: a handler that calls BLAS, or a forked child, must not find the process half made.
Process* Process::create() {
  const bool complete = platform::undisturbed([] {
    const platform::ErrnoGuard errno_stays;
    const platform::ForkGuard guard;
    static Process& process = *new Process;
    process.keep_counters();
    process.keep_description();
  });
  if (!complete) platform::say_out_of_memory();
  return the_process.load(std::memory_order_acquire);
}

Process::Process()
    : settings_(config::read_settings()),
      routines_(chosen_routines(settings_.routines)),
      assumed_(assumed_model()),
      simulated_rates_(rates_of(settings_)),
      decider_(create_decider(settings_, assumed_)),
      tracing_(settings_, decider_->floor_volume(), loaded_at()),
      open_policy_(config::start_mode(settings_), platform::local_size()),
      model_sought_(config::decide_by(settings_) != config::DecideBy::time || settings_.device == "none" ||
                    settings_.model == "none"),
      model_description_(assumed_.name),
      description_due_(Clock::now() + min_description_pause) {
  if (settings_.log.mode == config::LogMode::calls)
    report::log_calls({.file = settings_.log.file, .rank = platform::global_rank(), .start = loaded_at()});
  report::explain_decisions(static_cast<std::size_t>(settings_.explain));
  if (!settings_.report.empty()) report::keep_timeline(max_timed_calls, loaded_at());
  if (!intercept::hears_of_opening()) device::assume_shared_driver();
  the_process = this;
  use_floor();
}

void Process::use_floor() {
  const bool followed = settings_.log.mode == config::LogMode::calls || has_own_clock();
  (followed ? followed_floor_volume : floor_volume) = decider_->floor_volume();
  begin_new_term();
}

trace::Tracer* Process::tracer() {
  if (!traces()) return nullptr;
  return in_forked_child() ? tracing_.of_child() : tracing_.of_process();
}

bool Process::in_forked_child() {
  if (forked) return true;
  switch (mark_.bearer()) {
    case platform::ProcessMark::Bearer::marked: return false;
    case platform::ProcessMark::Bearer::guest: return true;  // the flags and the counters belong to its parent
    case platform::ProcessMark::Bearer::child: break;
  }
  become_forked_child();
  return true;
}

// Meanwhile other threads decide by the assumed model.
void Process::seek_model() {
  if (model_sought_.exchange(true)) return;
  platform::contained([&] {  // assumed rates need no memory
    const device::Expected gpu = device::expected(settings_.device);
    expected_sharers_ = device::expected_sharers(settings_.device, gpu.devices, platform::local_size());
    if (find_host_model()) return;
    if (!gpu.name.empty()) seek_model_of(gpu.name);
    if (expected_sharers_ == 1) return;
    const std::lock_guard lock(model_mutex_);
    decide_by_model();
  });
}

/// A model that the settings name counts as this machine's own.
bool Process::find_host_model() {
  const std::lock_guard lock(model_mutex_);
  const bool named = !settings_.model.empty();
  host_model_ = named ? read_model(settings_.model) : model_of_host();
  if (named && !host_model_) platform::log_line("no machine model %s: rates are assumed", settings_.model.c_str());
  if (host_model_) use_model(&*host_model_);
  return host_model_.has_value();
}

/// `gpu`: the name as the driver lists it, or as the open device gives it.
void Process::seek_model_of(const std::string& gpu) {
  if (config::decide_by(settings_) != config::DecideBy::time || !settings_.model.empty()) return;
  const std::lock_guard lock(model_mutex_);
  if (std::exchange(gpu_sought_, gpu) == gpu || (host_model_ && host_model_->file.describes(gpu))) return;
  const auto found = model_of_gpu(model_folders(), gpu);
  if (found || model_ != &assumed_) use_model(found ? &*found : nullptr);
}

/// The model of the devices for dividing calls among devices or into blocks. It is looked for even if size decides
/// where calls run.
const decide::MachineModel& Process::model_of_devices() {
  const bool decided_by_size = config::decide_by(settings_) != config::DecideBy::time;
  if (!decided_by_size || settings_.model == "none") return *model_;
  const auto found = settings_.model.empty()
                         ? model_of_gpu(model_folders(), devices_.load()->front().device().properties().name)
                         : read_model(settings_.model);
  return found ? *complete_model(assumed_, &*found, nullptr) : *model_;
}

/// `device`: nullptr if no model describes it.
void Process::use_model(const FoundModel* device) {
  const decide::MachineModel* const model = complete_model(assumed_, device, host_model_ ? &*host_model_ : nullptr);
  model_description_ = device == nullptr ? assumed_.name : device->file.model.name + " (" + device->path + ")";
  open_policy_.expect(model->open_seconds);
  model_ = model;
  decide_by_model();
  if (DeviceSet* const devices = devices_) devices->use(*model);
}

/// Processes that share a device share its time. A decision refers to the model for as long as the process lives.
void Process::decide_by_model() {
  if (config::decide_by(settings_) != config::DecideBy::time) return;
  DeviceSet* const devices = devices_;
  const int processes = devices != nullptr ? devices->front().device().properties().sharers : expected_sharers_.load();
  const decide::MachineModel* const model = model_;
  own_share_ = processes > 1 ? new decide::MachineModel(model->shared_by(processes)) : model;
  decider_->use(*own_share_);
  use_floor();
}

Refusal Process::refusal() const {
  if (settings_.device == "none") return Refusal::device_none;
  if (switched_off) return Refusal::switched_off;
  if (forked) return Refusal::forked;
  if (exiting) return Refusal::exiting;
  const DeviceSet* const devices = devices_;
  if (tried_ && !devices) return Refusal::no_device;
  return devices && !devices->working() ? Refusal::device_lost : Refusal::none;
}

// Signals are blocked: a handler that never returns must not leave a lock taken.
std::optional<operation::Estimate> Process::estimate(const operation::Operation& operation) {
  std::optional<operation::Estimate> result;
  platform::undisturbed([&] {
    DeviceSet* const devices = devices_;
    if (devices && refusal() == Refusal::none) result = devices->estimate(operation);
  });
  return result;
}

void Process::leave_to_cpu(const operation::Operation& operation) {
  if (devices_ == nullptr || !met_.may_hold_result(operation) || in_forked_child() || refusal() != Refusal::none)
    return;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    devices_.load()->leave_to_cpu(operation);
  });
}

Placement Process::place(const operation::Operation& operation, Refusal& why, std::optional<double> together) {
  why = in_forked_child() ? Refusal::forked : refusal();
  if (!first_call_noted_.load(std::memory_order_relaxed)) note_first_call();
  if (why == Refusal::none && !tried_ && !open_for(operation, together)) why = Refusal::not_open;
  // The call is counted before the last check: either this call sees that the process is exiting, or leave_device()
  // sees this call.
  calls_in_flight_.fetch_add(1);
  ++own_calls_in_flight;
  if (why == Refusal::none) why = refusal();
  DeviceSet* const devices = devices_;
  if (why == Refusal::none && (!devices || !ready_for(operation, together))) why = Refusal::not_open;
  if (why == Refusal::none) {
    Placement placement;
    if (!platform::contained([&] { placement = devices->take(operation); }))
      why = Refusal::no_host_memory;
    else if (!placement.context)
      why = Refusal::device_lost;
    if (placement.context) {
      met_.meet(operation);
      return placement;
    }
  }
  --own_calls_in_flight;
  calls_in_flight_.fetch_sub(1);
  return {};
}

bool Process::enter_for_blocks(Refusal& why) {
  why = in_forked_child() ? Refusal::forked : exiting ? Refusal::exiting : Refusal::none;
  if (why == Refusal::none && !tried_ && settings_.device != "none")
    start_in_turn_or_late(nullptr, longest_turn_of_others);
  // The call is counted before the last check, as in place().
  calls_in_flight_.fetch_add(1);
  ++own_calls_in_flight;
  if (why == Refusal::none && exiting) why = Refusal::exiting;
  if (why == Refusal::none) return true;
  --own_calls_in_flight;
  calls_in_flight_.fetch_sub(1);
  return false;
}

void Process::before_fork() {
  Process* const process = existing();
  DeviceSet* const devices = process ? process->devices_.load() : nullptr;
  if (devices && !process->in_forked_child()) platform::undisturbed([&] { devices->before_fork(); });
  platform::before_fork();
}

void Process::after_fork_in_parent() {
  platform::after_fork_in_parent();
  Process* const process = existing();
  DeviceSet* const devices = process ? process->devices_.load() : nullptr;
  if (devices && !process->in_forked_child()) devices->after_fork_in_parent();
}

void Process::share_driver() {
  DeviceSet* const devices = devices_;
  if (devices && !in_forked_child()) devices->release_pins();
}

void Process::give_back(const Placement& placement, const operation::Operation& operation) {
  devices_.load()->give_back(placement, operation);
  leave();
}

void Process::leave() {
  // cuBLAS and the CUDA runtime register their exit handlers during the first call. leave_device() has to run before
  // those too.
  if (!first_call_over_.exchange(true) && std::atexit([] { instance().leave_device(); }) != 0) first_call_over_ = false;
  --own_calls_in_flight;
  refresh_description();
  calls_in_flight_.fetch_sub(1);
}

// Waits once, however many handlers call it. A call that is stuck must not keep the process from ending. A call of this
// thread is not waited for: it would continue only after the handler that ends the process has returned, which never
// happens.
void Process::wait_for_calls() {
  if (inside_a_call() || waited_.exchange(true)) return;
  const auto deadline = Clock::now() + longest_wait;
  while (calls_in_flight_ > 0 && Clock::now() < deadline) usleep(50);
}

bool Process::is_switched_off() {
  return switched_off.load(std::memory_order_relaxed);
}

void Process::switch_on() {
  intercept_more();
  instance();
  switched_off = false;
  intercept::patch_new_objects();
}

// A call of this thread is not waited for, since it continues only after this.
void Process::switch_off() {
  switched_off = true;
  begin_new_term();
  Process* const process = existing();
  if (process == nullptr || process->in_forked_child()) return;
  const auto deadline = Clock::now() + longest_wait;
  while (!inside_a_call() && process->calls_in_flight_ > 0 && Clock::now() < deadline) usleep(50);
  DeviceSet* const devices = process->devices_;
  if (devices && !exiting) platform::undisturbed([&] { devices->release_operands(); });
}

void Process::leave_device() {
  const platform::CancellationDisabled no_cancellation;
  if (in_forked_child()) return;  // the threads that are waited for stayed in the parent
  exiting = true;
  // A BLAS inside the program itself ends before this library does, and then can no longer name its kernels.
  if (is_read_of()) platform::contained([] { (void)intercept::cpu_libraries(); });
  const bool opened = end_opening();
  const platform::Stopwatch stopwatch;
  wait_for_calls();
  if (opened && devices_) {
    devices_.load()->bring_results_home();
    if (calls_in_flight_ == 0 && !inside_a_call()) platform::contained([&] { devices_.load()->stop(); });
  }
  seconds_at_end_ = seconds_at_end_ + stopwatch.seconds();
}

}  // namespace blastoff::runtime
