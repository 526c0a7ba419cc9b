#include "runtime/opener.h"

#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "device/kinds.h"
#include "device/open.h"
#include "intercept/copies.h"
#include "intercept/exit_observer.h"
#include "intercept/installation.h"
#include "platform/background.h"
#include "platform/confinement.h"
#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/log.h"
#include "platform/peers.h"
#include "platform/process.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"
#include "report/counter_file.h"
#include "report/recorder.h"
#include "report/said.h"
#include "report/summary.h"
#include "runtime/gate.h"
#include "runtime/gathered_locks.h"
#include "runtime/kept_operation.h"
#include "runtime/loading.h"
#include "runtime/process.h"
#include "runtime/settled_calls.h"

namespace blastoff::runtime {

namespace {

using report::Refusal;
using Clock = std::chrono::steady_clock;

/// The libraries of the device register exit handlers while they are opened, and these handlers must not run meanwhile.
/// If exit() can be patched, it waits. Otherwise the main thread, which ends most programs, waits when exit() destroys
/// its thread-local objects, before any handler runs.
class OpeningGuard {
 public:
  ~OpeningGuard() {
    if (platform::confined()) return;
    const bool main_thread = gettid() == getpid();
    if (Process* const process = Process::existing(); process && main_thread) process->end_opening();
  }
  void arm() { armed_ = true; }

 private:
  bool armed_ = false;  // the first use of a member registers the destructor
};
thread_local OpeningGuard opening_guard;

/// Counts the calling thread as one that waits, if it is one of Blastoff's.
class Waiting {
 public:
  explicit Waiting(std::atomic<int>& number) : number_(platform::is_own_thread() ? &number : nullptr) {
    if (number_ != nullptr) ++*number_;
  }
  ~Waiting() {
    if (number_ != nullptr) --*number_;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<int>* const number_;
};

/// False for a simulated device.
bool opening_takes_long(const config::Settings& settings) {
  const auto named = device::find_kind(settings.device);
  return named && named->kind->timed;
}

/// What the CPU's times in earlier runs of a command depend on.
std::string conditions_of_cpu() {
  return fmt::format("{} {} {} {}", BLASTOFF_VERSION, platform::cpu_share(), platform::requested_threads(),
                     platform::requested_kernels());
}

/// Whether one rank made most calls of the earlier run for all. The first rank has left the file, and most often makes
/// such calls.
bool is_for_another_rank(const RunTimes& run) {
  return run.for_all && platform::global_rank() > 0;
}

}  // namespace

Opener::Opener(const config::Settings& settings, const std::optional<device::simulated::Rates>& rates,
               OpenPolicy& policy, Models& models, std::function<void()> changed)
    : settings_(settings),
      simulated_rates_(rates),
      policy_(policy),
      models_(models),
      changed_(std::move(changed)),
      among_ranks_(platform::local_size() > 1) {}

Refusal Opener::refusal() const {
  if (settings_.device == "none") return Refusal::device_none;
  if (const Refusal refusal = gate.refusal(); refusal != Refusal::none) return refusal;
  const DeviceSet* const devices = devices_;
  if (tried_ && !devices) return Refusal::no_device;
  return devices && !devices->working() ? Refusal::device_lost : Refusal::none;
}

/// Whether an opening that is under way is to stop.
bool Opener::is_unwanted() const {
  return unwanted_ || gate.exiting() || gate.confined();
}

void Opener::guard_main_thread() {
  opening_guard.arm();
}

/// The processes of a node open their devices one after the other, since many at once take several times as long.
/// Returns false if others had their turn for longer than `longest`. `first`: the operation for which the device is
/// made ready; nullptr: none yet.
bool Opener::start_in_turn(const operation::Operation* first, std::chrono::duration<double> longest) {
  constexpr std::chrono::milliseconds pause{2};
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(longest);
  for (;;) {
    // Asks again and again, since race detectors do not understand waiting for a mutex with a time limit.
    if (const std::unique_lock lock(turn_mutex_, std::try_to_lock); lock) {
      if (tried_ || is_unwanted()) return true;
      std::optional<platform::Peers::Turn> turn;
      if (opening_takes_long(settings_))
        turn.emplace(platform::Peers(report::run_directory()), std::chrono::milliseconds(0));
      if (!turn || turn->came()) {
        start_devices(first);
        return true;
      }
    }
    if (Clock::now() >= deadline) return false;
    const Waiting waiting(waiting_in_background_);
    std::this_thread::sleep_for(pause);
  }
}

/// The same, but starts without a turn if others had theirs for `longest`.
void Opener::start_in_turn_or_late(const operation::Operation* first, std::chrono::seconds longest) {
  if (start_in_turn(first, longest)) return;
  const std::lock_guard lock(turn_mutex_);
  start_devices(first);
}

/// To be called in the process's turn.
void Opener::start_devices(const operation::Operation* first) {
  // The guard is needed, since opening a device loads libraries.
  const platform::ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (tried_ || unwanted_) return;
  const auto begin = Clock::now();
  find_devices(first);
  const std::chrono::duration<double> since_loading = begin - loaded_at();
  const std::chrono::duration<double> real = Clock::now() - begin;
  const double after = since_loading.count() + report::seconds_ahead();
  const double taken = simulated_rates_ ? simulated_rates_->start : real.count();
  if (simulated_rates_ && !platform::is_own_thread())
    report::set_seconds_ahead(report::seconds_ahead() + taken - real.count());
  if (devices_ != nullptr) {
    const double closing = opening_takes_long(settings_) ? models_.of_devices().close_seconds : 0;
    opening_ = report::DeviceOpening{after, taken, closing, policy_.foresees_gain()};
  }
  tried_ = !unwanted_;
  platform::contained(changed_);
}

void Opener::find_devices(const operation::Operation* first) {
  if (const std::string copies = intercept::describe_copies(); !copies.empty()) report::tell_run(copies);
  auto devices = DeviceSet::start(settings_, [this] { return is_unwanted(); });
  if (devices) {
    DeviceSet& opened = *devices->release();  // never destroyed, whatever fails from here on
    platform::contained([&] {
      if (first == nullptr || !opening_begun_) return;
      opened.make_ready(*first);
      readiness_[first->routine()] = Readiness::ready;
    });
    platform::contained([&] { models_.seek_for(opened.front().device().properties().name); });
    platform::contained([&] {
      if (const RunHistory* const earlier = run_history_) opened.expect_used_once(earlier->used_once());
    });
    devices_ = &opened;
    begin_new_term();
    models_.serve(opened);
    // Exit handlers run in reverse order. This one must run after those that the program registers from now on, which
    // may still call BLAS. It must run before those of the CUDA libraries, during and after which CUDA must not be
    // called.
    std::atexit([] { Process::instance().leave_device(); });
  } else if (devices.error().kind == device::ErrorKind::no_host_memory) {
    throw std::bad_alloc();  // the next call tries again
  } else if (!is_unwanted()) {
    failure_ = devices.error().message;
    report::tell_run(failure_ + "; all calls run on the CPU");
  }
}

/// Reads them once, before the device is opened. Meanwhile other threads decide without them.
void Opener::recall_earlier_runs() {
  if (recalled_.exchange(true) || settings_.history == config::HistoryMode::off) return;
  recall_earlier_rates();
  if (config::start_mode(settings_) != config::StartMode::background) return;
  auto* const runs = new RunHistory(
      fmt::format("{} {} {}", settings_.device, device::expected(settings_.device).name, conditions_of_cpu()));
  if (runs->times() && !is_for_another_rank(*runs->times()))
    policy_.foresee(foresight(*runs->times(), policy_.price()), runs->times()->cpu);
  run_history_ = runs;
}

/// Rates by a simulated clock are no measurements, so they are not used.
void Opener::recall_earlier_rates() {
  if (simulated_rates_ || settings_.history == config::HistoryMode::off || earlier_rates_ != nullptr) return;
  auto* const known = new EarlierRates(conditions_of_cpu());
  models_.decider().recall(known->rates());
  earlier_rates_ = known;
}

void Opener::open_as_foreseen() {
  if (refusal() != Refusal::none) return;
  models_.seek();
  recall_earlier_runs();
  const RunHistory* const earlier = run_history_;
  if (earlier == nullptr || !earlier->times() || is_for_another_rank(*earlier->times())) return;
  if (!opens_ahead(*earlier->times(), policy_.price())) return;
  opening_begun_ = true;
  opened_ahead_ = run_in_background(
      [this] {
        const bool tells_for_all = platform::global_rank() <= 0;
        if (tells_for_all && !run_history_.load()->mark_ahead())
          opening_begun_ = false;  // then a call opens the device
        else
          start_in_turn_or_late(nullptr, longest_turn_in_background);
      },
      [this] { opening_begun_ = false; });
  if (!opened_ahead_) opening_begun_ = false;
}

/// Seconds since the library was loaded.
double Opener::age() {
  return std::chrono::duration<double>(Clock::now() - loaded_at()).count();
}

/// Whether the process has used so little of its cores since then that opening the device beside it costs nothing.
bool Opener::has_left_cores_idle(const Moment& since) {
  const double used = platform::cpu_seconds() - since.cpu_seconds;
  return used <= OpenPolicy::max_busy * platform::cpu_share() * (age() - since.age);
}

/// Notes when the first call came that is worth the device.
void Opener::note_first_call() {
  if (first_call_noted_.exchange(true)) return;
  first_call_age_ = age();
  first_call_cpu_ = platform::cpu_seconds();
  const bool told_before = config::fingerprint_of_variables() == variables_at_loading();
  if (opened_ahead_ && !told_before)
    platform::log_line(
        "the program has set variables of Blastoff, CUDA or the BLAS: they count from its next run on, since the "
        "device was opened before (--history)");
  if (platform::has_forked() || !told_before) return;
  if (opened_ahead_ || has_left_cores_idle({})) lead_ = age();
}

/// Returns whether the device is being opened. Everything that may run out of memory is done before the opening counts
/// as begun.
bool Opener::open_in_background(const operation::Operation& operation, platform::Span memory) {
  const std::function<void()> open = [this, kept = KeptOperation(operation), memory] {
    start_in_turn_or_late(&*kept, longest_turn_in_background);
    lock_memory(memory);
  };
  const std::function<void()> failed = [this] { opening_begun_ = false; };
  return opening_begun_.exchange(true) || run_in_background(open, failed);
}

bool Opener::open_for(const operation::Operation& operation, std::optional<double> together) {
  recall_earlier_runs();
  const double cpu_seconds = together ? *together : models_.expected_cpu_seconds(operation);
  // Where one rank opens its device for all, all lose one opening at most, as if there were one rank.
  switch (policy_.answer(cpu_seconds, [&] {
    return together.has_value() || has_left_cores_idle({first_call_age_, first_call_cpu_});
  })) {
    case OpenPolicy::Answer::not_yet: return false;
    case OpenPolicy::Answer::in_background:
      if (open_in_background(operation)) return tried_;
      [[fallthrough]];
    case OpenPolicy::Answer::now:
      if (policy_.always_waits())
        start_in_turn_or_late(&operation, longest_turn_of_others);
      else if (!start_in_turn(&operation, std::chrono::duration<double>(policy_.longest_queue(cpu_seconds))))
        open_in_background(operation);
  }
  return tried_;
}

void Opener::open_now() {
  start_in_turn_or_late(nullptr, longest_turn_of_others);
}

/// Only where the policy page-locks memory at all.
void Opener::lock_memory(platform::Span memory) {
  DeviceSet* const devices = devices_;
  if (memory.bytes() == 0 || devices == nullptr || unwanted_ || devices->front().pins() == nullptr) return;
  const platform::ForkGuard guard;
  lock_ahead(devices->front().device(), memory);
}

void Opener::lock_beside(platform::Span memory) {
  run_in_background([this, memory] { lock_memory(memory); }, [] {});
}

void Opener::open_beside_for_all(const operation::Operation& operation, platform::Span memory) {
  if (tried_ || refusal() != Refusal::none) return;
  recall_earlier_runs();
  if (policy_.opens_for_all()) open_in_background(operation, memory);
}

bool Opener::ready_for(const operation::Operation& operation, std::optional<double> together) {
  std::atomic<Readiness>& readiness = readiness_[operation.routine()];
  if (readiness.load(std::memory_order_relaxed) == Readiness::ready) return true;
  if (policy_.waits_for_kernels(together ? *together : models_.expected_cpu_seconds(operation))) {
    readiness = Readiness::ready;
    return true;
  }
  const std::function<void()> prepare = [this, kept = KeptOperation(operation), &readiness] {
    if (!unwanted_) devices_.load()->make_ready(*kept);
    readiness = Readiness::ready;
  };
  const std::function<void()> failed = [&readiness] { readiness = Readiness::ready; };  // the next call loads them
  auto cold = Readiness::cold;
  if (!readiness.compare_exchange_strong(cold, Readiness::in_preparation)) return cold == Readiness::ready;
  const bool begun = run_in_background(prepare, failed);
  if (!begun) readiness = Readiness::ready;
  return !begun;
}

// leave_device() runs before the handlers that the device's libraries have registered by then; before_exit(), if exit()
// could be patched, before all handlers.
bool Opener::run_in_background(const std::function<void()>& body, const std::function<void()>& failed) {
  if (intercept::installed_mode() != intercept::Mode::preload) intercept::observe_exit(Process::before_exit);
  std::atexit([] { Process::instance().leave_device(); });
  ++in_background_;
  bool started = false;
  platform::contained([&] {
    started = platform::start_thread("blastoff-open", [this, body, failed] {
      platform::give_way();
      if (!platform::contained(body)) {
        platform::say_out_of_memory();
        failed();
      }
      platform::announce_end();
      --in_background_;
    });
  });
  if (!started) --in_background_;
  return started;
}

bool Opener::end_threads() {
  unwanted_ = true;
  const auto begin = Clock::now();
  while (in_background_ > 0 && Clock::now() < begin + longest_wait) usleep(200);
  platform::wait_for_announced_ends();
  seconds_waited_ = seconds_waited_ + std::chrono::duration<double>(Clock::now() - begin).count();
  unwanted_ = false;
  opening_begun_ = devices_ != nullptr;  // the main thread may have ended while the process goes on
  return in_background_ == 0;
}

void Opener::end_threads_for_good() {
  end_threads();
  unwanted_ = true;
}

// All ranks of a job run the same command, so one rank writes the file.
void Opener::keep_times(const report::Totals& totals, const report::Context& context) const {
  const RunHistory* const earlier = run_history_;
  if (earlier == nullptr || gate.forked() || platform::global_rank() > 0) return;
  const platform::ErrnoGuard errno_stays;
  DeviceSet* const devices = devices_;
  RunTimes times = times_of_run(policy_.spent(), totals, context, earlier->times());
  times.opened_at_once = policy_.foresees_gain();
  times.lead = lead_;
  times.for_all = flops_for_all_ > times.flops / 2;
  earlier->keep(times, policy_.price(),
                devices == nullptr || Gate::inside_a_call() ? std::nullopt : devices->used_once());
}

void Opener::keep_rates(const report::Totals& totals, const report::Context& context) {
  if (gate.forked() || platform::global_rank() > 0) return;
  const platform::ErrnoGuard errno_stays;
  const std::vector<decide::CpuRate> rates = models_.decider().cpu_rates();
  const std::optional<report::EarlierRun> run = as_cpu_run(totals, context);
  if (!rates.empty() || run) recall_earlier_rates();
  if (const EarlierRates* const earlier = earlier_rates_) earlier->keep(rates, run);
}

/// This run, if it was one on the CPU. Other ranks may have opened a device that this rank did not need.
std::optional<report::EarlierRun> Opener::as_cpu_run(const report::Totals& totals,
                                                     const report::Context& context) const {
  const bool opens_none = settings_.device == "none" || !among_ranks_;
  if (!opens_none || opening_begun_ || tried_ || simulated_rates_) return std::nullopt;
  const report::EarlierRun run = report::whole_run(totals, context);
  return run.flops > 0 ? std::optional(run) : std::nullopt;
}

std::optional<report::EarlierRun> Opener::cpu_run() const {
  const EarlierRates* const earlier = earlier_rates_;
  return earlier == nullptr ? std::nullopt : earlier->cpu_run();
}

}  // namespace blastoff::runtime
