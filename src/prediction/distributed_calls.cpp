// Calls that all ranks of a grid make. The first rank decides as runtime/grid_root.cpp does. If it makes the call for
// all, the calls that each rank made inside it are left out.
#include <algorithm>
#include <utility>

#include "decide/distributed_library.h"
#include "prediction/process.h"
#include "runtime/gathered_locks.h"
#include "runtime/gathered_solve.h"
#include "runtime/grid_root.h"
#include "runtime/segment_tracker.h"
#include "runtime/team_solve.h"
#include "scalapack/trace_text.h"

namespace blastoff::prediction {

using report::Refusal;
using runtime::OpenPolicy;
using scalapack::Outcome;

namespace {

double own_seconds(const TracedCall& call) {
  return call.seconds.value_or(call.elapsed);
}

double end_of(const TracedCall& call) {
  return call.start + call.elapsed;
}

DistributedPrediction& sums_of(Prediction& prediction, const TracedCall& call) {
  const auto& whole = call.distributed->whole;
  const std::string text = scalapack::call_text(whole->call());
  const scalapack::Grid& grid = whole->grid();
  DistributedPrediction& sums = prediction.distributed[std::string(call.operation.name()) + " " + text + " " +
                                                       std::to_string(grid.rows) + "x" + std::to_string(grid.columns)];
  if (!sums.call) sums.call = whole;
  return sums;
}

}  // namespace

bool Process::waits_for_verdict() const {
  const auto& distributed = trace_.calls[next_].distributed;
  if (!distributed || distributed->whole) return false;
  const auto earlier = earlier_.find(distributed->number);
  return verdicts_.find(distributed->number, earlier == earlier_.end() ? 0 : earlier->second) == nullptr;
}

void Process::make_distributed(const TracedCall& call, Prediction& prediction) {
  RoutinePrediction& sums = prediction.routines[call.operation.name()];
  sums.traced_seconds += own_seconds(call);
  clock_.now = course_.begin_of(call);
  const double begin = clock_.now;
  learn_until(begin);
  Verdict verdict;
  if (call.distributed->whole) {
    verdict = lead(call, prediction);
    verdicts_.add(call.distributed->number, verdict);
  } else {
    const std::size_t earlier = earlier_[call.distributed->number]++;
    if (const Verdict* const found = verdicts_.find(call.distributed->number, earlier)) verdict = *found;
  }
  if (verdict.outcome != Outcome::gathered && verdict.outcome != Outcome::gathered_by_several) {
    if (verdict.outcome == Outcome::postponed) postponed_until_ = end_of(call);
    sums.cpu_seconds += own_seconds(call);
    return;
  }
  clock_.now = begin + verdict.seconds;
  const double traced_end = end_of(call);
  inside_until_[call.thread] = traced_end;
  course_.finish(call, traced_end, clock_.now);
  results_written(call.operation, nullptr);
}

/// Makes the call for all, or begins it as one of all.
Verdict Process::lead(const TracedCall& call, Prediction& prediction) {
  RoutinePrediction& routine = prediction.routines[call.operation.name()];
  DistributedPrediction& sums = sums_of(prediction, call);
  for (double* const calls : {&routine.calls, &sums.calls}) *calls += 1;
  sums.traced_seconds += call.elapsed;
  Whole whole{.call = &call, .placed = shared_.place(call), .begin = clock_.now};
  Refusal why = Refusal::distributed;
  if (whole.placed) {
    const double moved = call.distributed->whole->call().moved_bytes();
    const int ranks = call.distributed->whole->grid().size();
    whole.ranks = ranks;
    whole.moving = rule_.moving_seconds(moved, ranks, shared_.one_node());
    why = judge_whole(whole);
    if (why == Refusal::none) why = solve(whole, routine);
  }
  if (why != Refusal::none) {
    prediction.refusals[report::refusal_text(why)] += 1;
    const Outcome outcome = whole.postponed ? Outcome::postponed : Outcome::distributed;
    together_.push_back(std::move(whole));
    return {.outcome = outcome};
  }
  const double seconds = clock_.now - whole.begin;
  rule_.learn_gathered(whole.judged(), seconds);
  sums.gathered += 1;
  sums.predicted_seconds += seconds;
  if (whole.members == 1) return {.outcome = Outcome::gathered, .seconds = seconds};
  sums.by_several += 1;
  sums.gpus = whole.members;
  return {.outcome = Outcome::gathered_by_several, .seconds = seconds};
}

bool Process::pays(const Whole& whole) const {
  return settings_.gather == config::GatherMode::always || rule_.pays(model_of_job_, whole.judged());
}

/// As GridRoot::judge() and GridRoot::wants().
Refusal Process::judge_whole(Whole& whole) {
  const operation::Operation& solve = whole.placed->solve;
  const bool always = settings_.gather == config::GatherMode::always;
  const bool asks = always || whole.call->distributed->whole->call().is_worth_asking();
  const bool by_time = config::decide_by(settings_) == config::DecideBy::time;
  if (whole.call->distributed->failed || settings_.gather == config::GatherMode::never || !asks || !(always || by_time))
    return Refusal::distributed;
  if (!routines_.contains(whole.call->operation.routine())) return Refusal::left_out;
  if (solve.work.volume < models_.decider().floor_volume()) return Refusal::below_min_size;
  if (!pays(whole)) {
    whole.postponed = rule_.may_pay(model_of_job_, whole.judged());
    if (whole.postponed) open_beside();
    return Refusal::distributed;
  }
  const double together = rule_.seconds_together(model_of_job_, whole.judged());
  choose_gpu(solve);
  if (!open(together) || !ready(solve, together)) {
    whole.postponed = decide::knows_device(model_of_job_, solve);
    return Refusal::not_open;
  }
  const bool fits = runtime::fits_device(whole.placed->problem, solve, *chosen_->context);
  const runtime::TeamProblem team{.bytes = whole.placed->problem.device_bytes(),
                                  .fits_one = fits,
                                  .room = chosen_->context->budget(),
                                  .ranks = whole.ranks,
                                  .one_node = shared_.one_node()};
  if (runtime::asks_for_team(settings_.gather_gpus, whole.placed->operation, team))
    whole.members = runtime::team_members(team, job_.gpus);
  return fits || whole.members > 1 ? Refusal::none : Refusal::out_of_memory;
}

/// As Opener::open_beside_for_all().
void Process::open_beside() {
  if (open_policy_.opens_for_all()) begin_opening();
}

Refusal Process::solve(Whole& whole, RoutinePrediction& sums) {
  if (whole.members > 1) {
    // Nothing stays on the GPUs of a team.
    const int nodes = std::min(job_.nodes, whole.members);
    const auto seconds = decide::library_seconds(
        model_of_job_, whole.judged(),
        {.nodes = nodes, .gpus_per_node = (whole.members + nodes - 1) / nodes, .bandwidth = decide::rate_of_messages});
    clock_.now += seconds.all();
    sums.on_device += 1;
    sums.replaced_seconds += whole.call->elapsed;
    sums.device_seconds += seconds.all();
    sums.moving_seconds += seconds.moving;
    return Refusal::none;
  }
  for (const platform::Span span : whole.placed->changed) runtime::SegmentTracker::changed(span);
  // The decider refers to the operation when the call is over.
  TracedCall& solution = solutions_.emplace_back(
      TracedCall{.operation = whole.placed->solve, .seconds = whole.call->elapsed, .elapsed = whole.call->elapsed});
  clock_.now += whole.moving;
  Refusal why = Refusal::none;
  const runtime::GatheredSolve gathered(rule_.seconds_together(model_of_job_, whole.judged()),
                                        shared_.memory_of(*whole.placed));
  if (!make_on_device(solution, sums, why)) {
    clock_.now -= whole.moving;
    return why;
  }
  if (const platform::Span memory = shared_.memory_of(*whole.placed);
      !memory.empty() && !rule_.has_gathered(whole.judged())) {
    const double now = clock_.now;  // beside the program
    runtime::lock_ahead(chosen_->context->device(), memory);
    clock_.now = now;
  }
  sums.device_seconds += whole.moving;
  sums.moving_seconds += whole.moving;
  return Refusal::none;
}

/// What the first rank learns from calls that all ranks have made together until then, as GridRoot::learn_together().
void Process::end_together(double traced, Prediction& prediction) {
  while (!together_.empty() && end_of(*together_.front().call) <= traced) {
    const Whole whole = std::move(together_.front());
    together_.pop_front();
    const double end = course_.at(end_of(*whole.call), whole.call->thread);
    const double seconds = std::max(0.0, end - whole.begin);
    sums_of(prediction, *whole.call).predicted_seconds += seconds;
    results_written(whole.call->operation, nullptr);
    if (!whole.placed) continue;
    runtime::SegmentTracker::results_changed(whole.placed->solve);
    rule_.learn_together(whole.judged(), seconds);
    if (!whole.postponed || !pays(whole)) continue;
    const double waiting = decide::gathered_seconds(model_of_job_, whole.judged());
    clock_.now = std::max(clock_.now, end);
    open_policy_.add_spent({.seconds = seconds, .flops = whole.placed->solve.work.flops, .on_device = waiting},
                           OpenPolicy::added_by_this_thread());
    open_beside();
  }
}

}  // namespace blastoff::prediction
