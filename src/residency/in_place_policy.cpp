#include "residency/in_place_policy.h"

#include <mutex>
#include <utility>

#include "platform/contained.h"
#include "platform/page_moves.h"
#include "residency/footprint.h"
#include "residency/in_place/moved_memory.h"
#include "residency/in_place/operand_set.h"
#include "residency/matrices_read.h"

namespace blastoff::residency {

namespace {

using device::Result;
using device::Status;

class InPlacePolicy final : public Policy {
 public:
  InPlacePolicy(platform::WorkerPool& pool, tracking::MemoryEvents* events, const InPlaceSettings& settings)
      : before_(settings.before), moved_(pool, events, settings.node) {}

  const char* name() const override { return before_ == Before::nothing ? "coherent" : "first-use"; }
  bool keeps_operands() const override { return true; }
  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override;
  Result<std::unique_ptr<Lease>> begin_shared(const operation::Operation& call, device::CallQueues& queues,
                                              const Shared& shared) override;
  std::optional<Migration> migration() override {
    if (before_ != Before::move) return std::nullopt;
    return moved_.totals();
  }

 private:
  Status prepare(std::span<const operation::Operand> operands, std::size_t index, device::CallQueues& queues,
                 Traffic& traffic);
  bool used_before(const operation::Operand& operand);

  const Before before_;
  in_place::MovedMemory moved_;
  std::mutex mutex_;
  in_place::OperandSet used_;  // where nothing moves; nobody tells when it is freed
  std::size_t first_uses_ = 0;
};

/// Where the matrices of a call lie before it.
std::vector<MatrixPlaces> places_before(const operation::Operation& call) {
  std::vector<MatrixPlaces> places;
  each_distinct_matrix(call, [&](std::size_t, const operation::Operand& operand) {
    places.push_back({operand.payload_bytes(), {.node = platform::main_node(bounds(operand)).value_or(-1)}, {}});
  });
  return places;
}

void add_places_after(const operation::Operation& call, std::vector<MatrixPlaces>& places) {
  auto place = places.begin();
  each_distinct_matrix(call, [&](std::size_t, const operation::Operand& operand) {
    (place++)->after.node = platform::main_node(bounds(operand)).value_or(-1);
  });
}

/// The whole call is one panel, on the program's own addresses.
class InPlaceLease final : public Lease {
 public:
  InPlaceLease(const operation::Operation& call, device::CallQueues& queues, const Traffic& traffic)
      : panels_{call}, queues_(queues), traffic_(traffic) {}
  ~InPlaceLease() override { settle(); }

  const std::vector<operation::Operation>& panels() const override { return panels_; }
  Result<operation::Operation> acquire(std::size_t) override {
    in_flight_ = true;
    return panels_.front();
  }
  Status release(std::size_t) override {
    queued_ = true;
    return {};
  }
  Status finish() override {
    auto computed = queues_.compute->synchronize();
    if (computed) {
      in_flight_ = false;
      state_ = HostState::complete;
      if (!traffic_.places.empty()) add_places_after(panels_.front(), traffic_.places);
    }
    return computed;
  }
  HostState host_state(std::size_t) override {
    settle();
    return state_;
  }
  const Traffic& traffic() const override { return traffic_; }

 private:
  /// If the device refused the call and still works, it has not started it. In any other case part of the result may
  /// have been written.
  void settle() {
    if (!std::exchange(in_flight_, false)) return;
    const bool works = queues_.compute->synchronize().has_value();
    state_ = works && !queued_ ? HostState::untouched : HostState::torn;
  }

  std::vector<operation::Operation> panels_;
  device::CallQueues& queues_;
  Traffic traffic_;
  bool in_flight_ = false;  ///< work may be under way
  bool queued_ = false;     ///< all of it was
  HostState state_ = HostState::untouched;
};

Status InPlacePolicy::prepare(std::span<const operation::Operand> operands, std::size_t index,
                              device::CallQueues& queues, Traffic& traffic) {
  const operation::Operand& operand = operands[index];
  if (operand.empty() || operand.transient) return {};  // a vector is used from where it is
  bool first = false;
  std::uint64_t moved = 0;
  if (before_ == Before::move) {
    const in_place::Use use = moved_.use(operand);
    traffic.transfer_seconds += use.seconds;
    first = use.first;
    moved = use.moved;
  } else {
    if (before_ == Before::prefetch)
      if (auto asked = queues.compute->prefetch(operand.address, operand.span_bytes());
          !asked && asked.error().kind == device::ErrorKind::lost)
        return asked;
    first = !used_before(operand);
  }
  traffic.bytes_to_device += moved;
  if (!reads_matrix(operands, index)) return {};
  if (!first)
    traffic.bytes_reused += operand.payload_bytes();
  else if (operand.payload_bytes() > moved)
    traffic.bytes_met += operand.payload_bytes() - moved;
  return {};
}

/// Or written by the device: later calls find a result where it is, too.
bool InPlacePolicy::used_before(const operation::Operand& operand) {
  constexpr std::size_t max_uses = std::size_t{1} << 16;  // a program may use ever new memory
  const std::lock_guard lock(mutex_);
  if (used_.contains(operand)) return true;
  if (++first_uses_ % max_uses == 0) used_.remove({0, UINTPTR_MAX});
  platform::contained([&] { used_.add(operand); });  // otherwise it counts as new again
  return false;
}

/// What does not move is where it is used.
std::optional<operation::Estimate> InPlacePolicy::estimate(const operation::Operation& operation) {
  operation::Estimate result;
  for (const operation::Operand& operand : operation.operands()) {
    if (operand.empty() || operand.transient || !operation::reads(operand.intent)) continue;
    const auto there = before_ == Before::move ? moved_.already(operand) : before_ == Before::nothing;
    if (!there) return std::nullopt;
    (*there ? result.resident : result.missing) += operand.part_bytes();
    if (*there && before_ == Before::move) result.moved += operand.part_bytes();
  }
  return result;
}

Result<std::unique_ptr<Lease>> InPlacePolicy::begin_shared(const operation::Operation& call, device::CallQueues& queues,
                                                           const Shared& shared) {
  // In place, the result of a failure would have destroyed the operands.
  if (call.may_fail)
    return tl::unexpected(
        device::Error{device::ErrorKind::unsupported, std::string(call.name()) + " is not computed in place"});
  Traffic traffic;
  if (shared.tell_places) traffic.places = places_before(call);
  for (std::size_t i = 0; i < call.operands().size(); ++i)
    if (auto prepared = prepare(call.operands(), i, queues, traffic); !prepared)
      return tl::unexpected(prepared.error());
  return std::make_unique<InPlaceLease>(call, queues, traffic);
}

}  // namespace

std::unique_ptr<Policy> create_in_place_policy(platform::WorkerPool& pool, tracking::MemoryEvents* events,
                                               const InPlaceSettings& settings) {
  return std::make_unique<InPlacePolicy>(pool, events, settings);
}

}  // namespace blastoff::residency
