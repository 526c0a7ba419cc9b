#include "runtime/process.h"

#include <chrono>
#include <cstdlib>
#include <new>

#include <unistd.h>

#include "device/driver_sharing.h"
#include "device/kinds.h"
#include "intercept/confinement_observer.h"
#include "intercept/counted/counted.h"
#include "intercept/cpu_libraries.h"
#include "intercept/installation.h"
#include "intercept/loading/library_observer.h"
#include "intercept/unseen_families.h"
#include "platform/confinement.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/stopwatch.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/counter_file.h"
#include "report/decisions.h"
#include "report/recorder.h"
#include "report/said.h"
#include "report/timeline.h"
#include "runtime/callers_environment.h"
#include "runtime/gate.h"
#include "runtime/loading.h"
#include "runtime/routine_choice.h"
#include "runtime/settled_calls.h"
#include "tracking/uffd/memory_events.h"

namespace blastoff::runtime {

namespace {

using report::Refusal;
using Clock = std::chrono::steady_clock;

std::atomic<Process*> the_process{nullptr};

/// The process whose calls are intercepted, rather than a child that shares its memory (vfork).
constinit std::atomic<pid_t> own_process{0};

// A child that was forked before the first BLAS call only has to drop the counts of its parent.
void become_forked_child() {
  platform::after_fork_in_child();
  platform::contained([] {
    report::reset();
    intercept::counted::reset();
  });
  begin_new_term();
  if (the_process.load() != nullptr) gate.become_forked_child();
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
  platform::contained([&] {
    lacking = !intercept::counted::routines().empty() ||
              (report::counters_are_kept() && !intercept::unseen_families().empty());
  });
  return lacking ? Process::try_instance() : nullptr;
}

[[gnu::destructor]] void unload() {
  const platform::CancellationDisabled no_cancellation;
  gate.shut();
  if (platform::confined()) return;  // the launcher reports it as a process that ends without exit()
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

}  // namespace

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

void Process::begin_child() {
  become_forked_child();
  if (platform::confined()) return;
  own_process = getpid();
  Tracing::begin_child();
}

// Signals are blocked: a handler that calls BLAS, or a forked child, must not find the process half made.
Process* Process::create() {
  const bool complete = platform::undisturbed([] {
    const platform::ErrnoGuard errno_stays;
    const platform::ForkGuard guard;
    static Process& process = *new Process;
    process.keep_description();
  });
  if (!complete) platform::say_out_of_memory();
  return the_process.load(std::memory_order_acquire);
}

Process::Process()
    : settings_(config::read_settings()),
      routines_(chosen_routines(settings_.routines)),
      has_other_ranks_(platform::global_size() > 1 || platform::local_size() > 1),
      simulated_rates_(rates_of(settings_)),
      open_policy_(config::start_mode(settings_), platform::local_size()),
      models_(settings_, open_policy_, simulated_rates_.has_value()),
      opener_(settings_, simulated_rates_, open_policy_, models_, [this] { keep_description(); }),
      tracing_(settings_, models_.decider().floor_volume(), loaded_at()),
      description_due_(Clock::now() + min_description_pause) {
  if (settings_.log.mode == config::LogMode::calls)
    report::log_calls({.file = settings_.log.file, .rank = platform::global_rank(), .start = loaded_at()});
  report::explain_decisions(static_cast<std::size_t>(settings_.explain));
  if (!settings_.report.empty()) report::keep_timeline(max_timed_calls, loaded_at());
  if (!intercept::hears_of_opening()) device::assume_shared_driver();
  keep_counters();
  the_process = this;  // from here on, other threads count
  models_.publish_floor();
}

trace::Tracer* Process::tracer() {
  if (!traces()) return nullptr;
  return in_forked_child() ? tracing_.of_child() : tracing_.of_process();
}

bool Process::in_forked_child() {
  if (gate.forked() || platform::confined()) return gate.forked();
  switch (mark_.bearer()) {
    case platform::ProcessMark::Bearer::marked: return false;
    case platform::ProcessMark::Bearer::guest: return true;  // the flags and the counters belong to its parent
    case platform::ProcessMark::Bearer::child: break;
  }
  become_forked_child();
  return true;
}

// Signals are blocked: a handler that never returns must not leave a lock taken.
std::optional<operation::Estimate> Process::estimate(const operation::Operation& operation) {
  std::optional<operation::Estimate> result;
  platform::undisturbed([&] {
    DeviceSet* const devices = opener_.devices();
    if (devices && refusal() == Refusal::none) result = devices->estimate(operation);
  });
  return result;
}

void Process::leave_to_cpu(const operation::Operation& operation) {
  if (opener_.devices() == nullptr || !met_.may_hold_result(operation) || in_forked_child() ||
      refusal() != Refusal::none)
    return;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    opener_.devices()->leave_to_cpu(operation);
  });
}

Placement Process::place(const operation::Operation& operation, Refusal& why, std::optional<double> together) {
  why = in_forked_child() ? Refusal::forked : refusal();
  opener_.note_call();
  if (why == Refusal::none && !opener_.tried() && !opener_.open_for(operation, together)) why = Refusal::not_open;
  Gate::Entry entry;  // before the last check
  if (why == Refusal::none) why = refusal();
  DeviceSet* const devices = opener_.devices();
  if (why == Refusal::none && (!devices || !opener_.ready_for(operation, together))) why = Refusal::not_open;
  if (why == Refusal::none) {
    Placement placement;
    if (!platform::contained([&] { placement = devices->take(operation); }))
      why = Refusal::no_host_memory;
    else if (!placement.context)
      why = Refusal::device_lost;
    if (placement.context) {
      met_.meet(operation);
      entry.stay();
      return placement;
    }
  }
  return {};
}

bool Process::enter_for_blocks(Refusal& why) {
  why = in_forked_child() ? Refusal::forked : gate.exiting() ? Refusal::exiting : Refusal::none;
  if (gate.confined()) why = Refusal::confined;
  if (why == Refusal::none && !opener_.tried() && settings_.device != "none") opener_.open_now();
  Gate::Entry entry;  // before the last check
  if (why == Refusal::none && gate.exiting()) why = Refusal::exiting;
  if (why == Refusal::none && gate.confined()) why = Refusal::confined;
  if (why == Refusal::none) entry.stay();
  return why == Refusal::none;
}

void Process::before_fork() {
  Process* const process = existing();
  DeviceSet* const devices = process && !gate.confined() ? process->opener_.devices() : nullptr;
  if (devices && !process->in_forked_child()) platform::undisturbed([&] { devices->before_fork(); });
  platform::before_fork();
}

void Process::after_fork_in_parent() {
  platform::after_fork_in_parent();
  Process* const process = existing();
  DeviceSet* const devices = process && !gate.confined() ? process->opener_.devices() : nullptr;
  if (devices && !process->in_forked_child()) devices->after_fork_in_parent();
}

void Process::share_driver() {
  DeviceSet* const devices = opener_.devices();
  if (devices && !in_forked_child()) devices->release_pins();
}

void Process::give_back(const Placement& placement, const operation::Operation& operation) {
  opener_.devices()->give_back(placement, operation);
  leave();
}

void Process::leave() {
  // cuBLAS and the CUDA runtime register their exit handlers during the first call. leave_device() has to run before
  // those too.
  if (!first_call_over_.exchange(true) && std::atexit([] { instance().leave_device(); }) != 0) first_call_over_ = false;
  gate.leave([this] { refresh_description(); });
}

bool Process::is_switched_off() {
  return gate.switched_off();
}

void Process::switch_on() {
  if (gate.confined()) return;
  intercept_more();
  instance();
  gate.switch_on();
  intercept::patch_new_objects();
}

void Process::switch_off() {
  gate.switch_off();
  begin_new_term();
  Process* const process = existing();
  if (process == nullptr || process->in_forked_child() || gate.confined()) return;
  gate.wait_for_calls();
  DeviceSet* const devices = process->opener_.devices();
  if (devices && !gate.exiting()) platform::undisturbed([&] { devices->release_operands(); });
}

void Process::open_ahead() {
  if (!RunHistory::may_be_known()) return;
  Process& process = instance();
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    process.opener_.open_as_foreseen();
  });
}

bool Process::end_opening() {
  return in_forked_child() || gate.confined() || opener_.end_threads();  // the threads of a child stayed in the parent
}

void Process::before_exit() {
  Process* const process = existing();
  if (process == nullptr || gate.confined() || platform::is_own_thread() || process->in_forked_child()) return;
  process->opener_.end_threads_for_good();
}

void Process::leave_device() {
  const platform::CancellationDisabled no_cancellation;
  if (gate.confined() || in_forked_child()) return;  // the threads that are waited for stayed in the parent
  gate.shut();
  // A BLAS inside the program itself ends before this library does, and then can no longer name its kernels.
  if (is_read_of()) platform::contained([] { (void)intercept::cpu_libraries(); });
  const bool opened = end_opening();
  const platform::Stopwatch stopwatch;
  // Once, however many handlers come here: a call that is stuck must not keep the process from ending.
  if (!Gate::inside_a_call() && !waited_.exchange(true)) gate.wait_for_calls();
  if (opened && opener_.devices()) {
    opener_.devices()->bring_results_home();
    if (gate.idle() && !Gate::inside_a_call()) platform::contained([&] { opener_.devices()->stop(); });
    platform::wait_for_announced_ends();
  }
  seconds_at_end_ = seconds_at_end_ + stopwatch.seconds();
}

void Process::attend_confinement() {
  own_process = getpid();
  intercept::observe_confinement(before_confinement);
}

void Process::before_confinement() {
  if (gate.confined() || own_process != getpid()) return;
  platform::undisturbed([] {
    if (Process* const process = existing()) process->be_confined();
    gate.confine();
  });
  platform::confine();
}

void Process::be_confined() {
  const bool forked = in_forked_child();
  gate.confine();
  if (!forked) {
    if (settings_.device != "none")
      report::tell_run("the program forbids itself system calls (seccomp), so its calls run on the CPU from here on");
    opener_.end_threads_for_good();
    if (!Gate::inside_a_call()) gate.wait_for_calls();
    if (DeviceSet* const devices = opener_.devices()) {
      devices->bring_results_home();
      if (gate.idle()) devices->end();
    }
    tracking::end_watching();
    platform::wait_for_announced_ends();
  }
  end();
}

}  // namespace blastoff::runtime
