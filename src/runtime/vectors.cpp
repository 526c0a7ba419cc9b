#include "runtime/vectors.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "abi/vector_routine.h"
#include "platform/contained.h"
#include "platform/own_arithmetic.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/callers_environment.h"
#include "runtime/gate.h"
#include "runtime/gathered_solve.h"
#include "runtime/process.h"
#include "runtime/verified_run.h"

namespace blastoff::runtime {

namespace {

using blas::Elements;
using blas::VectorCall;
using operation::Operation;
using report::Refusal;
using residency::PartThere;

// Each part is work of its own for the device. Where pages have come home between those that have stayed, there are
// several.
constexpr std::size_t max_parts = 8;

/// One call, in elements. It owns nothing, since a program may leave an original for good.
class CallOfVectors {
 public:
  explicit CallOfVectors(const intercept::VectorsCalled& called)
      : called_(called), whole_(blas::operation_of(called.call)), host_(called.original) {}

  const Operation& whole() const { return whole_; }

  /// Whether the device has made a part.
  bool begun() const { return made_ > 0; }

  /// Makes on the device what it alone has.
  void make_there(DeviceContext& context, report::Record& record) {
    load_kernel(context);
    const bool verified = is_verified(Process::instance().settings().verify);
    auto queues = context.queue_pool().acquire();
    if (!queues) return;
    residency::Policy& policy = *context.policies().front();
    const auto parts = [this](std::span<const platform::Span> pages) { return parts_within(pages); };
    std::vector<PartThere> made;
    const device::Status done =
        policy.make_there({.whole = whole_, .parts = parts, .host = host_, .tell_elements = verified}, **queues, made);
    made_ = made.size();
    record.policy = policy.name();
    record.operands_kept = true;
    record.runs_on = !verified;
    for (const PartThere& part : made)
      for (const operation::Operand& operand : part.part.operands()) {
        if (operation::reads(operand.intent)) record.traffic.bytes_reused += operand.payload_bytes();
        if (operation::writes(operand.intent)) record.traffic.bytes_left += operand.payload_bytes();
      }
    if (!done && done.error().kind == device::ErrorKind::lost) context.lost(done.error().message);
    if (verified && begun()) verify(made, record);
  }

  /// The rest, on the CPU.
  void make_here() const {
    std::int64_t next = 0;
    for (std::size_t i = 0; i < made_; ++i) {
      make_here(next, elements_[i].first);
      next = elements_[i].last;
    }
    make_here(next, called_.call.n);
  }

 private:
  std::vector<Operation> parts_within(std::span<const platform::Span> pages) {
    const std::vector<Elements> runs = blas::elements_within(called_.call, pages, max_parts);
    std::ranges::copy(runs, elements_.begin());
    std::vector<Operation> parts;
    parts.reserve(runs.size());
    for (const Elements run : runs)
      parts.push_back(blas::operation_of(blas::part_of(called_.call, run.first, run.last)));
    return parts;
  }

  void make_here(std::int64_t first, std::int64_t last) const {
    if (first < last) host_.compute(blas::part_of(called_.call, first, last));
  }

  /// The device's libraries load a kernel when it is first used, which takes milliseconds.
  void load_kernel(DeviceContext& context) const {
    if (!context.is_first(whole_.routine())) return;
    VectorCall trial = called_.call;
    trial.n = 2;
    context.make_ready(blas::operation_of(trial));
  }

  /// Compares what the device has made with what the CPU makes of the same elements.
  void verify(const std::vector<PartThere>& made, report::Record& record) const {
    operation::Comparison worst{.checked = true};
    const Operation* wrong = &whole_;
    for (const PartThere& there : made) {
      const VectorCall call = blas::vector_call_of(there.part);
      std::vector<blas::VectorElements> expected = there.before;
      VectorCall here = call;
      for (std::size_t i = 0; i < expected.size(); ++i)
        here.x_and_y[i] = {expected[i].data(), call.x_and_y[i].increment < 0 ? -1 : 1};
      host_.compute(here);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const operation::Comparison one = blas::compare(call, i, there.before, expected[i], there.after[i]);
        if (one.relative_error <= worst.relative_error && worst.bound > 0) continue;
        worst = one;
        wrong = &there.part;
      }
    }
    judge(*wrong, worst, record);
  }

  const intercept::VectorsCalled& called_;
  const Operation whole_;
  const abi::VectorRoutine host_;
  std::array<Elements, max_parts> elements_{};  ///< of the parts
  std::size_t made_ = 0;                        ///< of these, the first ones
};

/// The only device of the process, if it may make the call.
DeviceContext* device_for(Process& process, const Operation& whole) {
  DeviceSet* const devices = process.devices_in_use();
  if (devices == nullptr || devices->all().size() > 1 || !devices->front().working()) return nullptr;
  if (Process::is_switched_off() || !process.offloads(whole.routine()) || GatheredSolve::running() != nullptr)
    return nullptr;
  if (whole.work.flops > 0 && !platform::rounds_to_nearest()) return nullptr;
  return &devices->front();
}

/// Whether the first, the middle or the last elements are there: most calls beside what has stayed end here. To be
/// asked while signals are blocked, since the ledger takes locks.
bool may_be_there(ledger::Ledger& ledger, const VectorCall& call) {
  for (const std::int64_t element : {std::int64_t{0}, call.n / 2, call.n - 1}) {
    const VectorCall one = blas::part_of(call, element, element + 1);
    const bool there = std::ranges::all_of(one.vectors(), [&](const blas::Vector& vector) {
      const auto at = reinterpret_cast<std::uintptr_t>(vector.address);
      return ledger.any_newest(platform::outward_to_pages({at, at + 1}));
    });
    if (there) return true;
  }
  return false;
}

}  // namespace

bool make_vectors_there(const intercept::VectorsCalled& called) {
  Process* const process = Process::existing();
  if (process == nullptr || gate.confined() || process->devices_in_use() == nullptr || process->in_forked_child())
    return false;
  if (!blas::is_elementwise(called.call) || !blas::is_unambiguous(called.call)) return false;
  ledger::Ledger* const ledger = process->devices_in_use()->front().ledger().get();
  bool there = false;
  if (ledger != nullptr) platform::undisturbed([&] { there = may_be_there(*ledger, called.call); });
  if (!there) return false;
  Refusal why{};
  if (!process->enter_for_blocks(why)) return false;
  CallOfVectors call(called);
  report::Record record;
  record.routine = call.whole().routine();
  record.symbol = called.symbol;
  record.caller = called.caller;
  record.flops = call.whole().work.flops;
  record.volume = call.whole().work.volume;
  DeviceContext* const context = device_for(*process, call.whole());
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  if (context != nullptr)
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      platform::run_with_ample_stack([&] {
        const DeviceStopwatch stopwatch(context->device());
        call.make_there(*context, record);
        record.seconds = stopwatch.seconds();
      });
    });
  process->leave();
  if (call.begun()) call.make_here();
  const report::CallTime time = report::end_call(begin);
  if (!call.begun()) return false;
  if (!context->device().own_time()) record.seconds = time.elapsed;
  record.wall_seconds = time.wall;
  record.share = time.share;
  record.inside = time.inside;
  platform::undisturbed([&] {
    report::add(record);
    context->count(record, record.flops, record.seconds);
  });
  report::recorded_since(time.ended);
  report::log_call(record, &call.whole());
  return true;
}

}  // namespace blastoff::runtime
