#include "runtime/gathering.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <tuple>

#include <dlfcn.h>

#include "decide/gathering.h"
#include "intercept/dispatch.h"
#include "intercept/lapack/enter.h"
#include "intercept/loaded_objects.h"
#include "intercept/lookup.h"
#include "lapack/call.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/memory_limits.h"
#include "platform/process.h"
#include "platform/rounding.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/callers_environment.h"
#include "runtime/process.h"
#include "scalapack/gathering.h"

namespace blastoff::runtime {

constinit thread_local GatheredSolve* GatheredSolve::running_ = nullptr;

namespace {

using config::GatherMode;
using intercept::InterceptedCall;
using report::Refusal;
using scalapack::Functions;
using scalapack::Grid;
using scalapack::Outcome;

/// dsyevd_, zheevd_, ...: the first spelling of a routine.
const intercept::EntryPoint& fortran_name(lapack::Routine routine) {
  return intercept::lapack_entry_points[static_cast<std::size_t>(routine) *
                                        intercept::lapack_routines.spellings.size()];
}

/// The process of a grid that solves the problem for all (its root).
class SolvingProcess final : public scalapack::Root {
 public:
  explicit SolvingProcess(const InterceptedCall& intercepted) : intercepted_(intercepted) {}

  bool wants(const scalapack::GatheredProblem& problem, const Grid& grid) override {
    refusal_ = judge(problem, grid);
    return refusal_ == Refusal::none;
  }

  bool solve(const scalapack::GatheredProblem& problem) override {
    GatheredSolve solve;
    const intercept::EntryPoint& entry = fortran_name(problem.routine());
    intercept::enter_lapack(entry, intercept::original_for(entry, intercepted_.caller), problem.routine(),
                            problem.words().data(), intercepted_.caller);
    refusal_ = solve.refusal();
    return refusal_ == Refusal::none;
  }

  /// Why this process did not solve it; Refusal::none if it did.
  Refusal refusal() const { return refusal_; }

  /// Learns how long all processes took, if they have solved the problem together.
  void learn(double seconds) {
    if (!judged_) return;
    platform::undisturbed([&] { times_together().learn(*judged_, ranks_, seconds); });
  }

 private:
  static decide::TimesTogether& times_together() {
    static auto& times = *new decide::TimesTogether;
    return times;
  }

  Refusal judge(const scalapack::GatheredProblem& problem, const Grid& grid) {
    Process& process = Process::instance();
    if (const Refusal refusal = process.refusal(); refusal != Refusal::none) return refusal;
    if (!platform::rounds_to_nearest()) return Refusal::rounding;
    const intercept::Original original = intercept::original_for(fortran_name(problem.routine()), intercepted_.caller);
    const lapack::Call call(problem.routine(), problem.words(), 4);
    const bool narrow = original.convention.integers == abi::IntegerWidth::lp64;
    if (original.function == nullptr || !narrow || !call.valid() || call.trivial() || !call.supported())
      return Refusal::unsupported;
    const operation::Operation operation = call.operation();
    if (operation.work.volume < process.decider().floor_volume()) return Refusal::below_min_size;
    if (problem.bytes() > platform::usable_memory() / 4) return Refusal::distributed;
    Refusal refusal = Refusal::distributed;
    judged_ = operation;
    ranks_ = grid.size();
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      if (!process.model_sought()) process.seek_model();
      const double moved = static_cast<double>(problem.bytes() + problem.matrix_bytes());
      const auto pays = [&] {
        return process.settings().gather == GatherMode::always ||
               decide::gathering_pays(process.model(), operation, moved, ranks_,
                                      times_together().least(operation, ranks_));
      };
      // The kind of device may be known only when it is open.
      const bool unknown = process.devices_in_use() == nullptr && !decide::knows_device(process.model(), operation);
      if (unknown || pays()) refusal = room_for(problem, operation);
      if (refusal == Refusal::none && unknown && !pays()) refusal = Refusal::distributed;
    });
    return refusal;
  }

  /// Checks whether the problem fits. Opens the device if it is time.
  static Refusal room_for(const scalapack::GatheredProblem& problem, const operation::Operation& operation) {
    constexpr std::size_t matrices_of_work_space = 3;
    Process& process = Process::instance();
    Refusal refusal = Refusal::none;
    const Placement placement = process.place(operation, refusal);
    if (placement.context == nullptr) return refusal;
    const std::size_t needed = problem.bytes() + matrices_of_work_space * problem.matrix_bytes();
    if (needed > placement.context->budget()) refusal = Refusal::out_of_memory;
    process.give_back(placement, operation);
    return refusal;
  }

  const InterceptedCall& intercepted_;
  Refusal refusal_ = Refusal::none;
  std::optional<operation::Operation> judged_;
  int ranks_ = 0;
};

/// nullptr if the program does not have all functions. Looked up once for each original, until a library is loaded or
/// unloaded.
const Functions* functions_for(const InterceptedCall& intercepted, const scalapack::Call& call) {
  const Functions* result = nullptr;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    const platform::ForkGuard guard;
    try {
      static std::mutex mutex;
      static auto& known = *new std::map<std::tuple<void*, std::uint64_t, std::uint64_t>, std::optional<Functions>>;
      const intercept::LinkerCounts counts = intercept::linker_counts();
      const std::lock_guard lock(mutex);
      const auto [entry, is_new] = known.try_emplace({intercepted.original.function, counts.loads, counts.unloads});
      if (is_new) {
        entry->second = scalapack::find_functions(call.complex(), [&](const char* symbol) {
          // If the program refers to a library's variable, the copy in the program itself is the one in use, so it
          // comes first.
          void* const global = dlsym(RTLD_DEFAULT, symbol);
          return global != nullptr ? global : intercept::find_definition(symbol, intercepted.caller);
        });
        dlerror();
      }
      if (entry->second) result = &*entry->second;
    } catch (const std::bad_alloc&) {
      // The other ranks do not wait for a rank that has not answered.
    }
  });
  return result;
}

/// How long the first call on a grid waits for the answers of the other ranks: about a thousandth of the time of the
/// call.
std::chrono::duration<double> patience(GatherMode mode, int order) {
  if (mode == GatherMode::never) return std::chrono::seconds(0);
  if (mode == GatherMode::always) return std::chrono::seconds(10);
  const double n = order;
  return std::chrono::duration<double>(std::min(0.2, 2e-13 * n * n * n));
}

Outcome gather(const InterceptedCall& intercepted, const scalapack::Call& call, SolvingProcess& root) {
  const Functions* const functions = functions_for(intercepted, call);
  if (functions == nullptr) return Outcome::distributed;
  const Grid grid = scalapack::grid_of(*functions, call.a().descriptor->context);
  const GatherMode mode = Process::instance().settings().gather;
  if (!grid.has_this_process() || (grid.is_root() && mode == GatherMode::never)) return Outcome::distributed;
  return scalapack::gather(call, intercepted.original.function, *functions, grid, root, patience(mode, call.order()));
}

Refusal refusal_of(Outcome outcome, const SolvingProcess& root) {
  switch (outcome) {
    case Outcome::gathered: return Refusal::gathered;
    case Outcome::reported: return Refusal::invalid_arguments;
    case Outcome::distributed: break;
  }
  return root.refusal() == Refusal::none ? Refusal::distributed : root.refusal();
}

/// Counts the call like others that stay on the CPU: without the calls inside it, one of which may be the solution.
/// `on_cpu`: all processes have made it together, as without Blastoff. Otherwise the CPU's time for it is not known.
void count(const InterceptedCall& intercepted, Refusal refusal, double seconds, const report::CallTime& time,
           bool on_cpu) {
  report::Record record;
  record.routine = intercepted.routine_id();
  record.symbol = intercepted.entry.symbol;
  record.caller = intercepted.caller;
  record.refusal = refusal;
  record.seconds = seconds;
  record.wall_seconds = time.wall;
  record.share = time.share;
  if (on_cpu) record.known_cpu_seconds = std::max(0.0, time.wall - time.share * time.recording_inside);
  platform::undisturbed([&] { report::add(record); });
  report::log_call(record, nullptr);
}

}  // namespace

}  // namespace blastoff::runtime

namespace blastoff {

// A child of fork has no place among the ranks: its messages would count as its parent's.
void intercept::dispatch_distributed(const InterceptedCall& intercepted, const scalapack::Call& call) {
  using namespace runtime;
  Process* const existing = Process::try_instance();
  if (existing == nullptr || existing->in_forked_child()) return intercepted.raw(intercepted.original.function);
  Process& process = *existing;
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const CallStopwatch stopwatch;
  SolvingProcess root(intercepted);
  const Outcome outcome = runtime::gather(intercepted, call, root);
  const Refusal refusal = runtime::refusal_of(outcome, root);
  if (outcome == Outcome::distributed) {
    const CallStopwatch original;
    const SpentOnCpu spent_before = OpenPolicy::added_by_this_thread();
    intercepted.raw(intercepted.original.function);
    root.learn(original.seconds());
    if (refusal == Refusal::not_open) process.add_spent_before_opening({.seconds = original.seconds()}, spent_before);
  }
  const report::CallTime time = report::end_call(begin);
  count(intercepted, refusal, stopwatch.own(stopwatch.seconds()), time, outcome == Outcome::distributed);
}

}  // namespace blastoff
