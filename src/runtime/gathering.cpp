#include "runtime/gathering.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "blas/front_end.h"
#include "config/options.h"
#include "decide/gathering.h"
#include "intercept/blas/enter_words.h"
#include "intercept/blas/entry_points.h"
#include "intercept/dispatch.h"
#include "intercept/lapack/enter.h"
#include "intercept/loaded_objects.h"
#include "intercept/lookup.h"
#include "lapack/call.h"
#include "platform/attendance.h"
#include "platform/errno_guard.h"
#include "platform/fork_guard.h"
#include "platform/memory_limits.h"
#include "platform/process.h"
#include "platform/recent_map.h"
#include "platform/rounding.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/callers_environment.h"
#include "runtime/gathered_locks.h"
#include "runtime/gathered_solve.h"
#include "runtime/process.h"
#include "runtime/segment_tracker.h"
#include "runtime/team_solve.h"
#include "scalapack/gathering.h"

namespace blastoff::runtime {

namespace {

using config::GatherMode;
using intercept::InterceptedCall;
using report::Refusal;
using scalapack::Functions;
using scalapack::Grid;
using scalapack::Outcome;
using scalapack::Transport;

/// dsyevd_, dgemm_, ...: the first spelling of a routine.
const intercept::EntryPoint& fortran_name(scalapack::LocalRoutine routine) {
  if (routine.is_lapack())
    return intercept::lapack_entry_points[static_cast<std::size_t>(routine.of_lapack()) *
                                          intercept::lapack_routines.spellings.size()];
  return intercept::entry_point_table[static_cast<std::size_t>(routine.of_blas()) *
                                      intercept::blas_routines.spellings.size()];
}

/// The local call as an operation; nullopt if a device cannot make it, or if there is nothing to compute.
std::optional<operation::Operation> operation_of(const scalapack::GatheredProblem& problem) {
  if (problem.routine().is_lapack()) {
    const lapack::Call call(problem.routine().of_lapack(), problem.words(), 4);
    if (!call.valid() || call.trivial() || !call.supported()) return std::nullopt;
    return call.operation();
  }
  blas::Call call;
  if (!intercept::parse_blas(call, problem.routine().of_blas(), problem.words().data())) return std::nullopt;
  if (!blas::valid(call) || blas::trivial(call)) return std::nullopt;
  return blas::operation_of(call);
}

/// Whether a device with so much room also makes the call if it does not fit.
bool runs_in_blocks(const operation::Operation& operation, std::size_t room) {
  if (operation.cutting != operation::Cutting::none) return true;
  const auto series = operation::blocks(operation, room);
  return series.size() > 1 || series.front().size() > 1;
}

/// The process of a grid that makes a call for all (its root).
class SolvingProcess final : public scalapack::Root {
 public:
  explicit SolvingProcess(const InterceptedCall& intercepted) : intercepted_(intercepted) {}

  bool insists() const override { return Process::instance().settings().gather == GatherMode::always; }

  bool hopes(const scalapack::GatheredProblem& problem, const Grid& grid, Transport transport) override {
    refusal_ = judge(problem, grid, transport);
    return refusal_ == Refusal::none || may_pay_;
  }

  bool wants(const scalapack::GatheredProblem& problem, const Grid& grid, scalapack::Segment* segment) override {
    refusal_ = judge(problem, grid, segment != nullptr ? Transport::memory : Transport::messages);
    if (segment != nullptr) use(*segment, problem);
    if (refusal_ != Refusal::none && !may_pay_) return false;
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      if (may_pay_)
        return Process::instance().opener().open_beside_for_all(*judged_,
                                                                memory_);  // earlier runs may tell that it pays
      refusal_ = room_for(problem, grid, segment);
      if (refusal_ == Refusal::none && !pays()) refusal_ = Refusal::distributed;  // the device is known now
    });
    return refusal_ == Refusal::none;
  }

  scalapack::Team team() const override { return team_; }

  bool postpones() override { return knows_device_ && (refusal_ == Refusal::not_open || may_pay_); }

  // The device may be open or free later. Other reasons last, and are looked at ever more rarely.
  std::uint32_t silence(const scalapack::Call& call) override {
    constexpr std::uint32_t longest = 4096;
    if (may_pay_ || !lasts(refusal_)) return 0;
    static std::mutex mutex;
    static auto& known = *new platform::RecentMap<std::uint32_t, std::uint32_t>(256);
    const std::lock_guard lock(mutex);
    std::uint32_t& silence = known.use(call.fingerprint(false));
    silence = std::min(longest, 2 * silence + 1);
    return silence;
  }

  std::unique_ptr<platform::WorkerPool> workers_to_copy(std::size_t bytes) override {
    const auto wanted = static_cast<int>(Process::instance().settings().copy_threads);
    return platform::workers_to_copy(bytes,
                                     wanted > 0 ? std::min(wanted, platform::cpu_count()) : platform::cpu_share());
  }

  void changed(std::byte* begin, std::size_t bytes) override {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    platform::undisturbed([&] { SegmentTracker::changed({address, address + bytes}); });
  }

  bool solve(const scalapack::GatheredProblem& problem, scalapack::Segment* segment) override {
    if (!team_.is_root_alone()) {
      outcome_of_team_ = solve_together(*segment, 0);
      if (outcome_of_team_ != TeamOutcome::unable) return outcome_of_team_ == TeamOutcome::solved;
      if (!fits_) return false;
    }
    GatheredSolve solve(seconds_together(), span_of(segment));
    const scalapack::LocalRoutine routine = problem.routine();
    const intercept::EntryPoint& entry = fortran_name(routine);
    const intercept::Original original = intercept::original_for(entry, intercepted_.caller);
    if (routine.is_lapack())
      intercept::enter_lapack(entry, original, routine.of_lapack(), problem.words().data(), intercepted_.caller);
    else
      intercept::enter_blas(entry, original, routine.of_blas(), problem.words().data(), intercepted_.caller);
    refusal_ = solve.refusal();
    if (refusal_ == Refusal::none && memory_.bytes() > 0 && times_gathered().count(*judged_, ranks_) == 0)
      platform::undisturbed([&] { Process::instance().opener().lock_beside(memory_); });
    return refusal_ == Refusal::none;
  }

  bool solved_in_team() const override { return outcome_of_team_ == TeamOutcome::solved; }

  void take_part(const scalapack::GatheredProblem& problem, scalapack::Segment& segment, const scalapack::Team& team,
                 int member) override {
    team_ = team;
    judged_ = operation_of(problem);
    const Process& process = Process::instance();
    const bool able = judged_ && process.settings().device != "none" && process.refusal() != Refusal::exiting;
    if (!able) {
      segment.all_able(0, team.members, false);  // the others wait for a word
      return;
    }
    use(segment, problem);
    solve_together(segment, member);
    judged_.reset();  // the root learns from the call
  }

  /// Whether another process of the grid is the one that decides.
  void follow() { follows_ = true; }
  bool follows() const { return follows_; }

  /// Why this process did not solve it; Refusal::none if it did.
  Refusal refusal() const { return refusal_; }

  /// Learns how long all processes took together. Opens the device if a gathered call would have gained enough.
  void learn_together(double elapsed) {
    if (!judged_) return;
    Process& process = Process::instance();
    const double seconds = process.seconds_on_cpu(judged_->work.flops / ranks_, elapsed);
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      times_together().learn(*judged_, ranks_, seconds);
      if (!postpones() || !pays()) return;
      process.opener().add_made_for_all(judged_->work.flops);
      const double waiting = decide::gathered_seconds(process.model(), *judged_, moving_);  // of all, for this process
      process.open_policy().add_spent({.seconds = seconds, .flops = judged_->work.flops, .on_device = waiting},
                                      OpenPolicy::added_by_this_thread());
      process.opener().open_beside_for_all(*judged_, memory_);
    });
  }

  /// Learns how long all took with one that made the call for all.
  void learn_gathered(double seconds) {
    if (!judged_) return;
    Process::instance().opener().add_made_for_all(judged_->work.flops);
    platform::undisturbed([&] { times_gathered().learn(*judged_, ranks_, seconds); });
  }

 private:
  static decide::TimesTogether& times_together() {
    static auto& times = *new decide::TimesTogether;
    return times;
  }
  static decide::TimesTogether& times_gathered() {
    static auto& times = *new decide::TimesTogether;
    return times;
  }

  static bool lasts(Refusal refusal) {
    switch (refusal) {
      case Refusal::distributed:
      case Refusal::below_min_size:
      case Refusal::unsupported:
      case Refusal::device_none:
      case Refusal::no_device:
      case Refusal::device_lost: return true;
      default: return false;
    }
  }

  static platform::Span span_of(const scalapack::Segment* segment) {
    if (segment == nullptr) return {};
    const auto begin = reinterpret_cast<std::uintptr_t>(segment->data());
    return {begin, begin + segment->capacity()};
  }

  /// The pages of the segment may be locked from now on (runtime/gathered_locks.h).
  void use(scalapack::Segment& segment, const scalapack::GatheredProblem& problem) {
    const auto begin = reinterpret_cast<std::uintptr_t>(problem.base());
    memory_ = {begin, begin + problem.end()};
    if (segment.has_end()) return;
    const platform::Span span = span_of(&segment);
    platform::undisturbed([&] { begin_segment(span); });
    segment.at_end([span] {
      if (!Process::instance().in_forked_child() && Process::instance().refusal() != Refusal::exiting)
        end_segment(span);
    });
  }

  Refusal judge(const scalapack::GatheredProblem& problem, const Grid& grid, Transport transport) {
    Process& process = Process::instance();
    if (const Refusal refusal = process.refusal(); refusal != Refusal::none) return refusal;
    if (!platform::rounds_to_nearest()) return Refusal::rounding;
    const intercept::Original original = intercept::original_for(fortran_name(problem.routine()), intercepted_.caller);
    const bool narrow = original.integers(problem.call().scalar()) == abi::IntegerWidth::lp64;
    if (original.function == nullptr || !narrow) return Refusal::unsupported;
    const std::optional<operation::Operation> operation = operation_of(problem);
    if (!operation) return Refusal::unsupported;
    if (operation->work.volume < process.decider().floor_volume()) return Refusal::below_min_size;
    if (problem.bytes() > platform::usable_memory() / 4) return Refusal::distributed;
    Refusal refusal = Refusal::distributed;
    judged_ = operation;
    ranks_ = grid.size();
    const double moved = problem.call().moved_bytes();
    moving_ =
        moved / (transport == Transport::memory ? decide::rate_of_shared_memory(ranks_) : decide::rate_of_messages);
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      if (!process.models().sought()) process.models().seek();
      // The kind of device may be known only when it is open.
      knows_device_ = decide::knows_device(process.model(), *operation);
      const bool unknown = process.devices_in_use() == nullptr && !knows_device_;
      if (unknown || pays()) refusal = Refusal::none;
      may_pay_ = refusal != Refusal::none && may_pay();
    });
    return refusal;
  }

  /// By the times that were measured, once the gathered problem has been solved more than once: the first time, the
  /// memory and the device's kernels are new. If the ranks have never solved it together, the shortest time that they
  /// may take counts; if that is too little, they solve it together the next time.
  bool pays() const {
    const Process& process = Process::instance();
    if (process.settings().gather == GatherMode::always) return true;
    if (times_gathered().count(*judged_, ranks_) > 1)
      return times_gathered().least(*judged_, ranks_) < seconds_together();
    return decide::gathering_pays(process.model(), *judged_, moving_, seconds_together());
  }

  /// Whether it would pay if the ranks were slow: until they have made such a call together, nobody knows.
  bool may_pay() const {
    if (times_together().least(*judged_, ranks_) > 0) return false;
    return decide::gathering_pays(Process::instance().model(), *judged_, moving_,
                                  decide::slowest_ranks * seconds_together());
  }

  double seconds_together() const {
    const double measured = times_together().least(*judged_, ranks_);
    return measured > 0 ? measured : decide::min_seconds_together(Process::instance().model(), *judged_, ranks_);
  }

  TeamOutcome solve_together(scalapack::Segment& segment, int member) {
    TeamOutcome outcome = TeamOutcome::unable;
    const bool ended = platform::undisturbed([&] {
      const CallersEnvironment environment;
      outcome = solve_in_team(*judged_, segment, memory_, team_, member);
      if (outcome != TeamOutcome::unable) SegmentTracker::results_changed(*judged_);
    });
    if (!ended) segment.all_able(0, team_.members, false);
    return ended ? outcome : TeamOutcome::unsolved;
  }

  /// Checks whether the problem fits, and chooses who makes the call. Opens the device if it is time.
  Refusal room_for(const scalapack::GatheredProblem& problem, const Grid& grid, const scalapack::Segment* segment) {
    Process& process = Process::instance();
    Refusal refusal = Refusal::none;
    const Placement placement = process.place(*judged_, refusal, seconds_together());
    if (placement.context == nullptr) return refusal;
    const std::size_t work_space =
        scalapack::is_eigensolver(problem.call().kind()) || problem.call().kind() == scalapack::Kind::gesvd
            ? 3 * problem.matrix_bytes()
            : problem.matrix_bytes() / 4;
    const std::size_t room = placement.context->budget();
    fits_ = problem.bytes() + work_space <= room || runs_in_blocks(*judged_, placement.context->room_for_copies());
    if (segment != nullptr)
      team_ = choose_team(*judged_, {.bytes = problem.bytes() + problem.matrix_bytes() / 4,
                                     .fits_one = fits_,
                                     .room = room,
                                     .ranks = grid.size()});
    if (!fits_ && team_.is_root_alone()) refusal = Refusal::out_of_memory;
    process.give_back(placement, *judged_);
    return refusal;
  }

  const InterceptedCall& intercepted_;
  Refusal refusal_ = Refusal::none;
  bool follows_ = false;
  std::optional<operation::Operation> judged_;
  bool knows_device_ = false;
  bool may_pay_ = false;     ///< nobody knows yet whether it pays
  platform::Span memory_{};  ///< of the problem, if the ranks share it
  int ranks_ = 0;
  double moving_ = 0;
  bool fits_ = true;  ///< the root's device can make the call alone
  scalapack::Team team_{};
  TeamOutcome outcome_of_team_ = TeamOutcome::unable;
};

/// nullptr if the program does not have all functions. Looked up once for each original, until a library is loaded or
/// unloaded.
const Functions* functions_for(const InterceptedCall& intercepted, blas::Scalar scalar) {
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
        entry->second = scalapack::find_functions(scalar, [&](const char* symbol) {
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

std::string text_of_setting(std::string_view name) {
  const auto& option = *std::ranges::find(config::options(), name, &config::Option::name);
  const char* const text = secure_getenv(option.environment);
  return text == nullptr ? "" : text;
}

/// What a rank shows of itself to others, from the time when the library is loaded.
struct RankShown {
  platform::Rank rank = platform::Rank::of_this_process(secure_getenv(config::run_directory_variable));
  std::string gather = text_of_setting("gather");
  /// All that the ranks must have alike to ask each other at the same calls: with `always`, they ask at small ones,
  /// too.
  std::string likeness =
      BLASTOFF_VERSION " " + std::string(gather == "always" ? gather : "") + " " + text_of_setting("routines");
  bool takes_part = gather != "never";

  static const RankShown& own() {
    static const auto& own = *new RankShown;
    return own;
  }
};

/// How long the first call on a grid waits for the other ranks: about a thousandth of the time of the call. A process
/// without a device has no reason to wait, and nobody waits for a rank that is certain to be absent.
std::chrono::duration<double> patience(GatherMode mode, const scalapack::Call& call) {
  using platform::Attendance;
  // A grid takes all of its ranks to make, so their libraries have been loaded.
  static const Attendance there = platform::attendance(RankShown::own().rank, RankShown::own().likeness);
  if (mode == GatherMode::never || there == Attendance::partial) return std::chrono::seconds(0);
  if (mode == GatherMode::always) return std::chrono::milliseconds(there == Attendance::full ? 10000 : 500);
  if (Process::instance().refusal() != Refusal::none) return std::chrono::seconds(0);
  return std::chrono::duration<double>(std::min(0.2, 4e-14 * call.multiplications()));
}

scalapack::Willingness willingness(GatherMode mode, const scalapack::Call& call) {
  return {.patience = patience(mode, call),
          .likeness = static_cast<int>(std::hash<std::string>()(RankShown::own().likeness))};
}

/// Whether the call may be gathered at all. All processes answer alike if they have the same mode.
bool may_be_gathered(const scalapack::Call& call, GatherMode mode) {
  return mode == GatherMode::always || call.is_worth_asking();
}

Outcome gather(const InterceptedCall& intercepted, const scalapack::Call& call, SolvingProcess& root) {
  const Functions* const functions = functions_for(intercepted, call.scalar());
  if (functions == nullptr) return Outcome::distributed;
  const Grid grid = scalapack::grid_of(*functions, call.context());
  if (grid.has_this_process() && !grid.is_root()) root.follow();
  const GatherMode mode = Process::instance().settings().gather;
  if (!grid.has_this_process() || (grid.is_root() && mode == GatherMode::never)) return Outcome::distributed;
  if (!call.may_be_gathered(grid)) return Outcome::distributed;
  try {
    return scalapack::gather(call, intercepted.original.function, *functions, grid, root, willingness(mode, call));
  } catch (const std::bad_alloc&) {
    return Outcome::distributed;  // the other ranks give up soon
  }
}

/// All processes make the call, as without Blastoff.
void make_together(const InterceptedCall& intercepted, Outcome outcome) {
  std::optional<OpenPolicy::PostponedCall> postponed;
  if (outcome == Outcome::postponed) postponed.emplace();
  intercepted.raw(intercepted.original.function);
}

Refusal refusal_of(Outcome outcome, const SolvingProcess& root) {
  switch (outcome) {
    case Outcome::gathered: return Refusal::gathered;
    case Outcome::gathered_by_several: return Refusal::gathered_by_several;
    case Outcome::reported: return Refusal::invalid_arguments;
    case Outcome::distributed:
    case Outcome::postponed: break;
  }
  return root.refusal() == Refusal::none ? Refusal::distributed : root.refusal();
}

/// Counts the call like others that stay on the CPU: without the calls inside it, one of which may be the solution.
/// `followed`: report::Record. `on_cpu`: all processes have made it together, as without Blastoff. Otherwise the CPU's
/// time for it is not known.
void count(const InterceptedCall& intercepted, Refusal refusal, double seconds, const report::CallTime& time,
           bool on_cpu, bool followed) {
  report::Record record;
  record.followed = followed;
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

/// Without a device, a profile has all calls, also those that are not worth a question to the other ranks.
void make_counted(const InterceptedCall& intercepted) {
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const CallStopwatch stopwatch;
  intercepted.raw(intercepted.original.function);
  const double seconds = stopwatch.own(stopwatch.seconds());
  count(intercepted, Refusal::device_none, seconds, report::end_call(begin), true, false);
}

}  // namespace

void attend_distributed_calls() {
  if (const RankShown& own = RankShown::own(); own.takes_part) platform::attend(own.rank, own.likeness);
}

// A child of fork has no place among the ranks: its messages would count as its parent's.
void make_distributed(const InterceptedCall& intercepted, const scalapack::Call& call) {
  Process* const existing = Process::try_instance();
  if (existing == nullptr || existing->in_forked_child()) return intercepted.raw(intercepted.original.function);
  Process& process = *existing;
  const bool asks = process.offloads(intercepted.routine_id()) && may_be_gathered(call, process.settings().gather);
  if (!asks && process.settings().device == "none") return make_counted(intercepted);
  if (!asks) return intercepted.raw(intercepted.original.function);
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const CallStopwatch stopwatch;
  SolvingProcess root(intercepted);
  const Outcome outcome = gather(intercepted, call, root);
  const Refusal refusal = refusal_of(outcome, root);
  const bool together = outcome == Outcome::distributed || outcome == Outcome::postponed;
  if (together) {
    const CallStopwatch original;
    make_together(intercepted, outcome);
    if (!call.failed()) root.learn_together(original.seconds());
  }
  if (outcome == Outcome::gathered || outcome == Outcome::gathered_by_several) root.learn_gathered(stopwatch.seconds());
  const report::CallTime time = report::end_call(begin);
  count(intercepted, refusal, stopwatch.own(stopwatch.seconds()), time, together, root.follows());
}

}  // namespace blastoff::runtime
