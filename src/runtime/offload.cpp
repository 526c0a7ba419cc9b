#include "runtime/offload.h"

#include <unistd.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lapack/cholesky_series.h"
#include "platform/contained.h"
#include "platform/exit_status.h"
#include "platform/log.h"
#include "residency/matrices_read.h"
#include "residency/policy.h"
#include "runtime/block_plan.h"
#include "runtime/gathered_solve.h"
#include "runtime/segment_tracker.h"

namespace blastoff::runtime {

namespace {

// The places of a call's matrices, as the line of --log calls shows them.

/// The first and the last rows of a result that stays on the device may lie on pages with other data, and go home.
constexpr double nearly_all = 0.95;
constexpr double nearly_none = 0.005;

std::string text_of(const residency::MatrixPlace& place, std::uint64_t bytes) {
  if (place.node) return *place.node < 0 ? "not yet written" : fmt::format("node {}", *place.node);
  const double alone = static_cast<double>(place.only_there) / static_cast<double>(bytes);
  const double there = static_cast<double>(place.on_device) / static_cast<double>(bytes);
  if (alone >= nearly_all) return "device";
  if (alone >= nearly_none) return fmt::format("{:.0f} % device", std::ceil(100 * alone));
  if (there >= nearly_all) return "both";
  return there < nearly_none ? "host" : fmt::format("{:.0f} % both", std::ceil(100 * there));
}

/// For example "host > both, both, host > device": each matrix, before and after the call.
std::string text_of(std::span<const residency::MatrixPlaces> places) {
  std::string text;
  for (const residency::MatrixPlaces& matrix : places) {
    if (!text.empty()) text += ", ";
    const std::string before = text_of(matrix.before, matrix.bytes);
    const std::string after = text_of(matrix.after, matrix.bytes);
    text += before == after ? before : fmt::format("{} > {}", before, after);
  }
  return text;
}

using device::Error;
using device::ErrorKind;
using device::Status;
using report::Refusal;
using residency::HostState;
using residency::Lease;

Status run_panels(Lease& lease, device::CallQueues& queues, const operation::Host& host) {
  for (std::size_t i = 0; i < lease.panels().size(); ++i) {
    auto panel = lease.acquire(i);
    if (!panel) return tl::unexpected(panel.error());
    if (auto run = queues.compute->execute(*panel, host); !run) return run;
    if (auto sent = lease.release(i); !sent) return sent;
  }
  return lease.finish();
}

[[noreturn]] void end_torn(const operation::Operation& operation, const Error& error) {
  platform::log_line(
      "%s: %s; the result was half overwritten while the call still read it, so no correct result is possible; the "
      "process ends",
      operation.name(), error.message.c_str());
  _exit(platform::software_error);
}

// Panels are independent of each other. The CPU computes those that were not copied back, from intact operands.
// `states` has room for all panels, since nothing here may allocate memory.
bool complete_on_host(Lease& lease, const operation::Operation& operation, const operation::Host& host,
                      const Error& error, std::vector<HostState>& states) {
  for (std::size_t i = 0; i < lease.panels().size(); ++i) states.push_back(lease.host_state(i));
  if (std::all_of(states.begin(), states.end(), [](HostState s) { return s == HostState::untouched; })) return false;
  if (!operation.updates()) return false;  // whatever was written, the CPU can make the whole call again
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i] == HostState::complete) continue;
    if (states[i] == HostState::torn || !host.can_compute(lease.panels()[i])) end_torn(operation, error);
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i] == HostState::untouched) host.compute(lease.panels()[i]);
  return true;
}

// A gathered problem lies in memory of ours. All processes make the call together then, since their operands are
// intact. What has been begun is no input for another way.
Error given_up(Lease& lease, Error error) {
  for (std::size_t i = 0; i < lease.panels().size(); ++i)
    if (lease.host_state(i) != HostState::untouched) error.kind = ErrorKind::failed;
  return error;
}

/// All processes make a gathered call together then, since operands of ours have changed.
Error no_result(Error error) {
  error.kind = ErrorKind::failed;
  return error;
}

Refusal refusal_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::out_of_memory: return Refusal::out_of_memory;
    case ErrorKind::no_host_memory: return Refusal::no_host_memory;
    case ErrorKind::unsupported: return Refusal::unsupported;
    case ErrorKind::unavailable: return Refusal::no_device;
    case ErrorKind::failed: return Refusal::no_result;
    case ErrorKind::lost: return Refusal::device_lost;
  }
  return Refusal::device_lost;
}

std::uint64_t bytes_read(std::span<const operation::Operation> operations) {
  std::uint64_t bytes = 0;
  for (const operation::Operation& operation : operations)
    for (std::size_t i = 0; i < operation.operands().size(); ++i)
      if (residency::reads_matrix(operation.operands(), i)) bytes += operation.operands()[i].payload_bytes();
  return bytes;
}

void note(report::Record& record, std::span<const operation::Operation> operations, const Lease& lease,
          const residency::Policy& policy) {
  const residency::Traffic& traffic = lease.traffic();
  record.policy = policy.name();
  record.operands_kept = policy.keeps_operands();
  record.traffic += traffic;
  record.traffic.bytes_read += bytes_read(operations);
  record.runs_on = traffic.runs_on;
  if (record.places != nullptr) *record.places = text_of(traffic.places);
}

// As run_by(). Exceptions come only before host memory has changed.
std::optional<Error> run_under_lease(residency::Policy& policy, DeviceContext& context,
                                     std::span<const operation::Operation> operations, const operation::Host& host,
                                     report::Record& record, const residency::Shared& shared) {
  const operation::Operation& first = operations.front();
  if (auto prepared = context.device().prepare(first); !prepared) return prepared.error();
  auto queues = context.queue_pool().acquire();
  if (!queues) return queues.error();
  const auto without_pins = context.without_pins(*(*queues)->compute, first);
  if (!without_pins) return without_pins.error();
  record.queues_at_once = queues->at_once();
  residency::Shared given = shared;
  given.tell_places = record.places != nullptr;
  auto lease = operations.size() == 1 ? policy.begin_shared(first, **queues, given)
                                      : policy.begin_series(operations, **queues, shared);
  if (!lease) return lease.error();
  std::vector<HostState> states;
  states.reserve((*lease)->panels().size());
  Status run = tl::unexpected(device::no_host_memory());
  platform::contained([&] { run = run_panels(**lease, **queues, host); });
  note(record, operations, **lease, policy);
  const std::string& reason = (*lease)->traffic().copied_because;
  if (run && !reason.empty()) platform::contained([&] { context.count_copied(reason); });
  if (run) return std::nullopt;
  if (run.error().kind == ErrorKind::lost) context.lost(run.error().message);
  if (GatheredSolve::running() != nullptr) return given_up(**lease, std::move(run.error()));
  if (complete_on_host(**lease, first, host, run.error(), states)) return std::nullopt;
  return std::move(run.error());
}

// The policy runs the operations: one, or a series. nullopt if they are done; otherwise host memory is unchanged.
std::optional<Error> run_by(residency::Policy& policy, DeviceContext& context,
                            std::span<const operation::Operation> operations, const operation::Host& host,
                            report::Record& record, const residency::Shared& shared) {
  std::optional<Error> error;
  if (!platform::contained([&] { error = run_under_lease(policy, context, operations, host, record, shared); }))
    error = device::no_host_memory();
  return error;
}

bool another_way_may(const Error& error) {
  return error.kind == ErrorKind::unsupported || error.kind == ErrorKind::out_of_memory;
}

/// Runs an operation that does not fit the device: block after block by copies.
class BlockRun {
 public:
  BlockRun(DeviceContext& context, const residency::PageLocks* locks, const operation::Host& host,
           report::Record& record)
      : context_(context), shared_{.page_locks = locks}, host_(host), record_(record) {}

  /// Takes at most `room` bytes of device memory. nullopt if the operation is done; otherwise host memory is unchanged.
  /// The results of finished blocks are in host memory, so the CPU can compute the rest.
  std::optional<Error> run(const operation::Operation& operation, std::size_t room, Error too_large) {
    BlockPlan plan;
    if (!platform::contained(
            [&] { plan = plan_blocks(operation, room, context_.model(), shared_.page_locks != nullptr); }))
      return device::no_host_memory();
    const auto computable = [&](const auto& series) {
      return std::ranges::all_of(series, [&](const auto& block) { return host_.can_compute(block); });
    };
    if (plan.series.empty() || !std::ranges::all_of(plan.series, computable)) return too_large;
    bool begun = false;
    for (const std::vector<operation::Operation>& series : plan.series) {
      if (plan.ahead && series.size() > 1) {
        std::optional<Error> as_one = run_by_copies(series);
        if (!as_one) {
          begun = true;
          continue;
        }
        if (!another_way_may(*as_one) && !begun) return as_one;
        if (GatheredSolve::running() != nullptr && begun) return no_result(std::move(*as_one));
      }
      auto error = run_one_by_one(operation, series, room, begun);
      if (error || stopped_) return error;
    }
    return std::nullopt;
  }

 private:
  std::optional<Error> run_by_copies(std::span<const operation::Operation> operations) {
    return run_by(*context_.policies().back(), context_, operations, host_, record_, shared_);
  }

  /// Returns an error only if the first block of all fails. `series`: of `operation`.
  std::optional<Error> run_one_by_one(const operation::Operation& operation,
                                      std::span<const operation::Operation> series, std::size_t room, bool& begun) {
    for (const operation::Operation& block : series) {
      auto error = run_by_copies({&block, 1});
      // The block may not fit, since other threads hold device memory, too.
      if (error && error->kind == ErrorKind::out_of_memory && room > min_room)
        error = run(block, room / 4, std::move(*error));
      if (error && !begun) return error;
      if (error && GatheredSolve::running() != nullptr) return no_result(std::move(*error));
      const bool computed = !error || host_.compute(block);
      begun = true;
      stopped_ = stopped_ || (!computed && lapack::is_cholesky(block) && lapack::info_of(block) != 0);
      if (!stopped_) continue;
      lapack::move_info(operation, block);
      return std::nullopt;
    }
    return std::nullopt;
  }

  DeviceContext& context_;
  const residency::Shared shared_;
  const operation::Host& host_;
  report::Record& record_;
  bool stopped_ = false;  ///< a Cholesky factorization has ended before its last block: the matrix is not definite
};

/// A gathered call whose operands lie in memory that the ranks share. nullopt: it is done.
std::optional<Error> run_in_segment(DeviceContext& context, const operation::Operation& operation,
                                    const operation::Host& host, report::Record& record) {
  Error error{ErrorKind::unsupported, {}};
  if (SegmentPolicy* const segments = context.segments()) {
    residency::Policy& policy = segments->policy();
    SegmentTracker::results_changed(operation, segments->tracker());
    auto kept = run_by(policy, context, {&operation, 1}, host, record, {});
    if (!kept || !another_way_may(*kept)) return kept;
    error = std::move(*kept);
  }
  SegmentTracker::results_changed(operation);
  return error;
}

/// Tries the policy that keeps operands, if there is one; then copies; then copies block by block. Operands with page
/// locks of the caller's are copied. Returns as run_by().
std::optional<Error> run(DeviceContext& context, const operation::Operation& operation, const operation::Host& host,
                         report::Record& record, residency::Shared shared) {
  residency::Policy& preferred = *context.policies().front();
  residency::Policy& copies = *context.policies().back();
  std::unique_ptr<residency::PageLocks> locks;
  std::string why_copied;
  const GatheredSolve* const gathered = GatheredSolve::running();
  if (gathered != nullptr && gathered->segment().bytes() > 0 && shared.sharing == nullptr) {
    auto error = run_in_segment(context, operation, host, record);
    if (!error || !another_way_may(*error)) return error;
  } else if (&preferred != &copies && shared.page_locks == nullptr) {
    auto error = run_by(preferred, context, {&operation, 1}, host, record, shared);
    if (error && error->kind == ErrorKind::out_of_memory && context.segments() &&
        context.segments()->release_operands())
      error = run_by(preferred, context, {&operation, 1}, host, record, shared);
    if (!error || !another_way_may(*error)) return error;
    why_copied = error->message;
    const bool large = error->kind == ErrorKind::out_of_memory && operation.cutting != operation::Cutting::none;
    if (large) locks = preferred.lock_operands(operation);
    shared.page_locks = locks.get();
  }
  auto error = run_by(copies, context, {&operation, 1}, host, record, shared);
  if (!error && !why_copied.empty()) platform::contained([&] { context.count_copied(why_copied); });
  if (!error || error->kind != ErrorKind::out_of_memory) return error;
  error = BlockRun(context, shared.page_locks, host, record).run(operation, context.room_for_copies(), *error);
  if (!error) platform::contained([&] { context.count_copied("too large for the device: computed block by block"); });
  return error;
}

}  // namespace

Refusal offload(DeviceContext& context, const operation::Operation& operation, const operation::Host& host,
                report::Record& record, const residency::Shared& shared) {
  std::optional<Error> error;
  if (!platform::contained([&] { error = run(context, operation, host, record, shared); }))
    error = device::no_host_memory();
  if (!error) return Refusal::none;
  if (error->kind == ErrorKind::lost || error->kind == ErrorKind::unavailable)
    context.lost(error->message);
  else if (error->kind == ErrorKind::no_host_memory)
    platform::say_out_of_memory();
  else if (error->kind != ErrorKind::failed)
    platform::contained([&] { context.say_once(error->message); });
  return refusal_of(error->kind);
}

}  // namespace blastoff::runtime
