#include "runtime/grid_root.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "blas/front_end.h"
#include "config/settings.h"
#include "decide/gathering.h"
#include "device/kinds.h"
#include "intercept/blas/enter_words.h"
#include "intercept/blas/entry_points.h"
#include "intercept/lapack/enter.h"
#include "intercept/lookup.h"
#include "lapack/call.h"
#include "platform/backoff.h"
#include "platform/memory_limits.h"
#include "platform/own_arithmetic.h"
#include "platform/recent_map.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"
#include "runtime/callers_environment.h"
#include "runtime/gathered_locks.h"
#include "runtime/gathered_solve.h"
#include "runtime/process.h"
#include "runtime/segment_tracker.h"

namespace blastoff::runtime {

namespace {

using config::GatherMode;
using report::Refusal;
using scalapack::Grid;
using scalapack::Transport;

/// dsyevd_, dgemm_, ...: the first spelling of a routine.
const intercept::EntryPoint& fortran_name(scalapack::LocalRoutine routine) {
  if (routine.is_lapack())
    return intercept::lapack_entry_points[static_cast<std::size_t>(routine.of_lapack()) *
                                          intercept::lapack_routines.spellings.size()];
  return intercept::blas_entry_points[static_cast<std::size_t>(routine.of_blas()) *
                                      intercept::blas_routines.spellings.size()];
}

decide::GatheringRule& rule() {
  static auto& rule = *new decide::GatheringRule;
  return rule;
}

/// Whether the same reason is expected at later calls.
bool lasts(Refusal refusal) {
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

/// A matrix that is an operand has its address.
bool find_parts(const scalapack::GatheredProblem& problem, const operation::Operation& operation,
                const scalapack::TeamMatrices& matrices, TeamShare& share) {
  const auto rules = problem.call().rules();
  for (std::size_t operand = 0; operand < operation.operands().size(); ++operand) {
    const operation::Operand& whole = operation.operands()[operand];
    for (std::size_t rule = rules.size(); rule-- > 0;) {
      const scalapack::DistributedMatrix matrix = problem.call().matrix(rules[rule]);
      const bool same = matrix.rows == whole.rows && matrix.columns == whole.columns;
      if (same && problem.matrix(rule).address == whole.address) share.parts[operand] = matrices.parts[rule];
    }
    if (share.parts[operand] == nullptr) return false;
  }
  return true;
}

platform::Span span_of(const scalapack::Segment* segment) {
  if (segment == nullptr) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(segment->data());
  return {begin, begin + segment->capacity()};
}

}  // namespace

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

bool fits_device(const scalapack::GatheredProblem& problem, const operation::Operation& operation,
                 const DeviceContext& context) {
  if (problem.device_bytes() <= context.budget() || operation.cutting != operation::Cutting::none) return true;
  const auto series = operation::blocks(operation, context.room_for_copies());
  return series.size() > 1 || series.front().size() > 1;
}

bool GridRoot::insists() const {
  return Process::instance().settings().gather == GatherMode::always;
}

bool GridRoot::hopes(const scalapack::GatheredProblem& problem, const Grid& grid, Transport transport) {
  refusal_ = judge(problem, grid, transport);
  return refusal_ == Refusal::none || may_pay_;
}

bool GridRoot::wants(const scalapack::GatheredProblem& problem, const Grid& grid, scalapack::Segment* segment) {
  refusal_ = judge(problem, grid, segment != nullptr ? Transport::memory : Transport::messages);
  if (segment != nullptr) use(*segment, problem);
  if (refusal_ != Refusal::none && !may_pay_) return false;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    // Earlier runs may tell that it pays.
    if (may_pay_) return Process::instance().opener().open_beside_for_all(*judged_, memory_);
    refusal_ = room_for(problem, grid, segment);
    if (refusal_ == Refusal::none && !pays()) refusal_ = Refusal::distributed;  // the device is known now
  });
  return refusal_ == Refusal::none;
}

bool GridRoot::postpones() {
  return knows_device_ && (refusal_ == Refusal::not_open || may_pay_);
}

// The device may be open or free later. Other reasons last, and are looked at ever more rarely.
std::uint32_t GridRoot::silence(const scalapack::Call& call) {
  if (may_pay_ || !lasts(refusal_)) return 0;
  static std::mutex mutex;
  static auto& known = *new platform::RecentMap<std::uint32_t, platform::Backoff>(256);
  const std::lock_guard lock(mutex);
  const std::uint32_t number = call.fingerprint(false);
  if (known.find(number) == nullptr) known.use(number) = platform::Backoff({.first = 1});
  return static_cast<std::uint32_t>(known.use(number).failed());
}

std::unique_ptr<platform::WorkerPool> GridRoot::workers_to_copy(std::size_t bytes) {
  const auto wanted = static_cast<int>(Process::instance().settings().copy_threads);
  return platform::workers_to_copy(bytes, wanted > 0 ? std::min(wanted, platform::cpu_count()) : platform::cpu_share());
}

void GridRoot::copied(double bytes, double seconds) {
  rule().learn_copy(ranks_, bytes, seconds);
}

void GridRoot::changed(std::byte* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  platform::undisturbed([&] { SegmentTracker::changed({address, address + bytes}); });
}

bool GridRoot::solve(const scalapack::GatheredProblem& problem, scalapack::Segment* segment) {
  GatheredSolve solve(seconds_together(), span_of(segment));
  const scalapack::LocalRoutine routine = problem.routine();
  const intercept::EntryPoint& entry = fortran_name(routine);
  const intercept::Original original = intercept::original_for(entry, caller_);
  if (routine.is_lapack())
    intercept::enter_lapack(entry, original, routine.of_lapack(), problem.words().data(), caller_);
  else
    intercept::enter_blas(entry, original, routine.of_blas(), problem.words().data(), caller_);
  refusal_ = solve.refusal();
  if (refusal_ == Refusal::none && memory_.bytes() > 0 && !rule().has_gathered(whole()))
    platform::undisturbed([&] { Process::instance().opener().lock_beside(memory_); });
  return refusal_ == Refusal::none;
}

scalapack::SeenDevices GridRoot::seen_devices() {
  scalapack::SeenDevices seen;
  if (Process::instance().refusal() != Refusal::none) return seen;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    seen = runtime::seen_devices();
  });
  return seen;
}

TeamOutcome GridRoot::make_in_team(const scalapack::GatheredProblem& problem, scalapack::TeamWords& words,
                                   const scalapack::Team& team, int member, int device,
                                   const scalapack::TeamMatrices& matrices) {
  TeamOutcome outcome = TeamOutcome::unable;
  bool asked = false;
  const bool ended = platform::undisturbed([&] {
    const CallersEnvironment environment;
    const std::optional<operation::Operation> operation = operation_of(problem);
    const Process& process = Process::instance();
    const bool has_gpus = process.settings().device == device::default_kind.name;  // all of them, as the root has
    TeamShare share{.team = team, .member = member, .device = device, .bring = matrices.bring};
    if (!operation || !has_gpus || process.refusal() == Refusal::exiting) return;
    if (matrices.segment != nullptr) {
      if (member != 0) use(*matrices.segment, problem);
      share.memory = memory_;
    } else if (!find_parts(problem, *operation, matrices, share)) {
      return;
    }
    asked = true;
    outcome = solve_in_team(*operation, words, share);
    if (matrices.segment != nullptr && outcome != TeamOutcome::unable) SegmentTracker::results_changed(*operation);
  });
  if (!asked) words.all_able(0, false);  // the others wait for a word
  if (asked && !ended) outcome = TeamOutcome::failed;
  if (outcome == TeamOutcome::failed) refusal_ = Refusal::device_lost;
  return outcome;
}

void GridRoot::learn_together(double elapsed) {
  if (!judged_) return;
  Process& process = Process::instance();
  const double seconds = process.seconds_on_cpu(judged_->work.flops / ranks_, elapsed);
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    rule().learn_together(whole(), seconds);
    if (!postpones() || !pays()) return;
    process.opener().add_made_for_all(judged_->work.flops);
    const double waiting = decide::gathered_seconds(process.model(), whole());  // of all, for this process
    process.open_policy().add_spent({.seconds = seconds, .flops = judged_->work.flops, .on_device = waiting},
                                    OpenPolicy::added_by_this_thread());
    process.opener().open_beside_for_all(*judged_, memory_);
  });
}

void GridRoot::learn_gathered(double seconds) {
  if (!judged_) return;
  Process::instance().opener().add_made_for_all(judged_->work.flops);
  platform::undisturbed([&] { rule().learn_gathered(whole(), seconds); });
}

/// The pages of the segment may be locked from now on (runtime/gathered_locks.h).
void GridRoot::use(scalapack::Segment& segment, const scalapack::GatheredProblem& problem) {
  const auto begin = reinterpret_cast<std::uintptr_t>(problem.base());
  memory_ = {begin, begin + problem.end()};
  if (segment.has_end()) return;
  const platform::Span span = span_of(&segment);
  platform::undisturbed([&] { begin_segment(span); });
  segment.at_end([span] {
    if (!Process::instance().in_forked_child() && Process::instance().refusal() != Refusal::exiting) end_segment(span);
  });
}

Refusal GridRoot::judge(const scalapack::GatheredProblem& problem, const Grid& grid, Transport transport) {
  Process& process = Process::instance();
  if (const Refusal refusal = process.refusal(); refusal != Refusal::none) return refusal;
  if (!platform::rounds_to_nearest()) return Refusal::rounding;
  const intercept::Original original = intercept::original_for(fortran_name(problem.routine()), caller_);
  const bool narrow = original.integers(problem.call().scalar()) == abi::IntegerWidth::lp64;
  if (original.function == nullptr || !narrow) return Refusal::unsupported;
  const std::optional<operation::Operation> operation = operation_of(problem);
  if (!operation) return Refusal::unsupported;
  if (operation->work.volume < process.decider().floor_volume()) return Refusal::below_min_size;
  if (problem.bytes() > platform::usable_memory() / 4) return Refusal::distributed;
  Refusal refusal = Refusal::distributed;
  judged_ = operation;
  ranks_ = grid.size();
  moving_ = rule().moving_seconds(problem.call().moved_bytes(), ranks_, transport == Transport::memory);
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    if (!process.models().sought()) process.models().seek();
    // The kind of device may be known only when it is open.
    knows_device_ = decide::knows_device(process.model(), *operation);
    const bool unknown = process.devices_in_use() == nullptr && !knows_device_;
    if (unknown || pays()) refusal = Refusal::none;
    may_pay_ = refusal != Refusal::none && rule().may_pay(process.model(), whole());
  });
  return refusal;
}

bool GridRoot::pays() const {
  const Process& process = Process::instance();
  return process.settings().gather == GatherMode::always || rule().pays(process.model(), whole());
}

double GridRoot::seconds_together() const {
  return rule().seconds_together(Process::instance().model(), whole());
}

/// Checks whether the problem fits, and chooses who makes the call. Opens the device if it is time.
Refusal GridRoot::room_for(const scalapack::GatheredProblem& problem, const Grid& grid,
                           const scalapack::Segment* segment) {
  Process& process = Process::instance();
  Refusal refusal = Refusal::none;
  const Placement placement = process.place(*judged_, refusal, seconds_together());
  if (placement.context == nullptr) return refusal;
  fits_ = fits_device(problem, *judged_, *placement.context);
  choose(problem, *placement.context, grid.size(), segment);
  if (!fits_ && team_.is_root_alone()) refusal = Refusal::out_of_memory;
  process.give_back(placement, *judged_);
  return refusal;
}

/// Chooses who makes the call.
void GridRoot::choose(const scalapack::GatheredProblem& problem, const DeviceContext& context, int ranks,
                      const scalapack::Segment* segment) {
  const TeamProblem of{.bytes = problem.device_bytes(),
                       .fits_one = fits_,
                       .room = context.budget(),
                       .ranks = ranks,
                       .one_node = segment != nullptr};
  const bool may = may_choose_team(*judged_, of);
  asks_for_members_ = may && segment == nullptr && members_ == 0;
  if (!may || asks_for_members_) return;
  team_ = choose_team(*judged_, of, segment != nullptr ? runtime::seen_devices().count : members_);
}

}  // namespace blastoff::runtime
