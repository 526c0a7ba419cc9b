#include "residency/first_use_policy.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>

#include "platform/background.h"
#include "platform/contained.h"
#include "platform/stopwatch.h"
#include "residency/commit_log.h"
#include "residency/copy/layout.h"
#include "residency/copy_policy.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/copied_lease.h"
#include "residency/mirror/mirror_check.h"
#include "residency/mirror/operand_backup.h"
#include "residency/mirror/operand_locks.h"
#include "residency/mirror/operand_upload.h"
#include "residency/mirror/return_path.h"
#include "residency/mirror/staying_return.h"

namespace blastoff::residency {

namespace {

using device::Result;
using device::Status;

// Giving back device memory and getting it anew takes up to 0.3 ms. A program that maps a matrix where it has just
// unmapped one should not lose this time.
constexpr double dead_seconds = 0.02;

// What a lease needs beside its queues; kept between calls.
struct Tools {
  std::unique_ptr<device::Event> uploaded;
  std::unique_ptr<device::Event> computed;
  std::unique_ptr<device::Event> diagonal_home;
  std::unique_ptr<CommitLog> log;
};

class FirstUsePolicy final : public Policy {
 public:
  FirstUsePolicy(device::Device& device, Staging& staging, ledger::Ledger& ledger, const FirstUseSettings& settings)
      : device_(device),
        staging_(staging),
        settings_(settings),
        coherence_(device, ledger, settings.pins ? settings.pins : create_pins(0), settings.direct_copies,
                   settings.max_copied, settings.fingerprint, settings.results),
        buffers_(settings.buffers ? settings.buffers : create_buffers(device)),
        copies_(create_copy_policy(device, staging, buffers_)) {
    tidying_ = platform::start_thread("blastoff-tidy", [this] {
      platform::give_way();
      // What there is no memory for now, the next call does.
      while (coherence_.wait_for_events())
        platform::contained([this] {
          while (coherence_.tidy(dead_seconds) && !stops_soon()) {
          }
        });
      tidying_ = false;
      tidying_.notify_all();
    });
  }

  ~FirstUsePolicy() override { stop(); }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_all();
    coherence_.stop_waiting();
    tidying_.wait(true);
  }

  std::unique_ptr<PageLocks> lock_operands(const operation::Operation& call) override {
    return std::make_unique<mirror::OperandLocks>(coherence_, call);
  }
  bool release_pins() override { return coherence_.release_pins(); }
  void release_operands() override {
    coherence_.release_mirrors();
    buffers_->trim();
  }
  void leave_to_cpu(const operation::Operation& call) override { coherence_.leave_to_cpu(call); }
  std::optional<std::vector<std::uint64_t>> used_once() override { return coherence_.used_once(); }
  void expect_used_once(std::span<const std::uint64_t> kinds) override { coherence_.expect_used_once(kinds); }

  const char* name() const override { return "first-use"; }
  bool keeps_operands() const override { return true; }
  std::optional<operation::Estimate> estimate(const operation::Operation& call) override {
    return coherence_.estimate(call);
  }
  Result<std::unique_ptr<Lease>> begin(const operation::Operation& call, device::CallQueues& queues) override {
    return begin_shared(call, queues, {});
  }
  Result<std::unique_ptr<Lease>> begin_shared(const operation::Operation& call, device::CallQueues& queues,
                                              const Shared& shared) override;

  device::Device& device() { return device_; }
  Staging& staging() { return staging_; }
  mirror::Coherence& coherence() { return coherence_; }
  device::MemoryPool& buffers() { return *buffers_; }
  const FirstUseSettings& settings() const { return settings_; }

  Result<std::unique_ptr<Lease>> begin(const operation::Operation& call, device::CallQueues& queues,
                                       const Shared& shared, mirror::Copied may_copy);
  Result<std::unique_ptr<Tools>> take_tools();
  void give_back(std::unique_ptr<Tools> tools) {
    const std::lock_guard lock(mutex_);
    idle_tools_.push_back(std::move(tools));  // which has room
  }

 private:
  // Until the next look at memory that is dead. Events wait that long at most.
  bool stops_soon() {
    constexpr std::chrono::milliseconds pause{2};
    std::unique_lock lock(mutex_);
    return stopped_.wait_for(lock, pause, [this] { return stopping_; });
  }

  device::Device& device_;
  Staging& staging_;
  FirstUseSettings settings_;
  mirror::Coherence coherence_;
  const std::shared_ptr<device::MemoryPool> buffers_;
  std::unique_ptr<Policy> copies_;  // of calls that go past the mirrors
  std::atomic<bool> tidying_{false};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Tools>> idle_tools_;
  std::size_t tools_made_ = 0;
};

Result<std::unique_ptr<Tools>> FirstUsePolicy::take_tools() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_tools_.empty()) {
      auto tools = std::move(idle_tools_.back());
      idle_tools_.pop_back();
      return tools;
    }
  }
  auto tools = std::make_unique<Tools>();
  for (auto* event : {&tools->uploaded, &tools->computed, &tools->diagonal_home}) {
    auto created = device_.create_event();
    if (!created) return tl::unexpected(created.error());
    *event = std::move(*created);
  }
  const std::lock_guard lock(mutex_);
  idle_tools_.reserve(tools_made_ + 1);
  ++tools_made_;
  return tools;
}

/// Strips of a solve are as long as its triangle.
std::size_t bytes_of_strips(const operation::Operation& solve, std::size_t width) {
  const operation::Operand& result = solve.operands().back();
  return static_cast<std::size_t>(solve.work.depth) * result.element_size * width;
}

std::size_t panel_bytes(const operation::Operation& call, const PanelSizes& sizes) {
  constexpr std::size_t max_panels = 8;
  const bool solve = call.cutting == operation::Cutting::wide_strips;
  const bool triangular = call.cutting == operation::Cutting::one_triangle;
  const std::size_t smallest = solve        ? bytes_of_strips(call, sizes.solve_width)
                               : triangular ? sizes.triangular
                                            : sizes.general;
  return std::max({smallest, call.result_bytes() / max_panels, std::size_t{1}});
}

/// The call as mirrors know it: transient operands are empty, so that nothing is done for them.
operation::Operation mirrored(const operation::Operation& call) {
  operation::Operation result = call;
  for (operation::Operand& operand : result.operands())
    if (operand.transient) operand.columns = 0;
  return result;
}

class FirstUseLease final : public Lease {
 public:
  FirstUseLease(FirstUsePolicy& policy, device::CallQueues& queues, const operation::Operation& call,
                const Shared& shared, std::unique_ptr<Tools>& tools)
      : policy_(policy),
        queues_(queues),
        call_(call),
        shared_(shared),
        upload_(policy.coherence(), policy.staging(), queues, acquisition_, shared_,
                {policy.settings().min_borrowed, policy.settings().patience}, traffic_),
        panels_(operation::pieces(call_, panel_bytes(call_, policy.settings().panels))),
        tools_(std::move(tools)) {}

  ~FirstUseLease() override {
    if (held_ && !finished_) abandon();
    policy_.give_back(std::move(tools_));
  }

  /// Takes hold of the operands.
  Status acquire(mirror::Copied may_copy);
  /// Nothing is held, and the call is to be made by copies: bytes of its operands that the CPU has rewritten.
  std::optional<std::uint64_t> past_mirrors() const {
    return acquisition_.past_mirrors ? std::optional(acquisition_.bytes_rewritten) : std::nullopt;
  }
  Status prepare();

  const std::vector<operation::Operation>& panels() const override { return panels_; }
  Result<operation::Operation> acquire(std::size_t index) override;
  Status release(std::size_t index) override;
  Status finish() override;
  HostState host_state(std::size_t index) override;
  const Traffic& traffic() const override { return traffic_; }

 private:
  bool has_mirror(std::size_t index) const { return !call_.operands()[index].transient && !acquisition_.copied[index]; }
  std::int64_t buffer_leading_dimension(std::size_t index) const {
    return copy::device_leading_dimension(call_.operands()[index]);
  }
  Status take_buffers();
  std::vector<Transfer> copied() const;
  operation::Operand on_device(const operation::Operation& panel, std::size_t index) const;
  Status open_return_paths();
  Status open_return_path(mirror::Return way);
  mirror::ReturnPath* path(mirror::Return way) const { return paths_[static_cast<std::size_t>(way)].get(); }
  struct Parcel;
  Parcel parcel(std::size_t index, mirror::Return way) const;
  Status uploads_arrived();
  bool needs_no_panels() const;
  bool may_run_on() const;
  void abandon();

  FirstUsePolicy& policy_;
  device::CallQueues& queues_;
  const operation::Operation call_;
  const Shared shared_;
  mirror::PageAcquisition acquisition_;  ///< of mirrored(call_)
  bool held_ = false;
  Traffic traffic_;
  mirror::OperandUpload upload_;
  std::array<device::PooledMemory, operation::Operation::max_operands> buffers_;  ///< of operands without a mirror
  std::vector<operation::Operation> panels_;
  std::unique_ptr<Tools> tools_;
  std::vector<operation::Operation> device_panels_;
  std::array<mirror::Return, operation::Operation::max_operands> ways_{};       ///< how each result goes home
  std::array<std::unique_ptr<mirror::ReturnPath>, mirror::ways.size()> paths_;  ///< by way; nullptr: no result takes it
  mirror::OperandBackup backup_;
  bool only_copy_changed_ = false;
  bool finished_ = false;
  mirror::PageAcquisition::PerOperand<MatrixPlace> places_{};  ///< before the call, if they are to be told
};

/// What of a panel goes home on one way.
struct FirstUseLease::Parcel {
  std::array<mirror::Returned, operation::Operation::max_operands> results;
  std::size_t count = 0;
  std::span<const mirror::Returned> span() const { return {results.data(), count}; }
};

Result<std::unique_ptr<Lease>> FirstUsePolicy::begin_shared(const operation::Operation& call,
                                                            device::CallQueues& queues, const Shared& shared) {
  // What parts of a call bring together, they bring to mirrors.
  Result<std::unique_ptr<Lease>> lease = tl::unexpected(device::no_host_memory());
  platform::contained(
      [&] { lease = begin(call, queues, shared, shared.sharing ? mirror::Copied::small : mirror::Copied::any); });
  // Mirrors have a budget of their own.
  const bool short_of_memory = !lease && lease.error().kind == device::ErrorKind::out_of_memory;
  if (short_of_memory) platform::contained([&] { lease = begin(call, queues, shared, mirror::Copied::none); });
  if (!lease && shared.sharing) shared.sharing->supplied(shared.part, shared.number);  // nobody is to wait for it
  return lease;
}

Result<std::unique_ptr<Lease>> FirstUsePolicy::begin(const operation::Operation& call, device::CallQueues& queues,
                                                     const Shared& shared, mirror::Copied may_copy) {
  auto tools = take_tools();
  if (!tools) return tl::unexpected(tools.error());
  std::unique_ptr<FirstUseLease> lease;
  if (!platform::contained([&] { lease = std::make_unique<FirstUseLease>(*this, queues, call, shared, *tools); })) {
    give_back(std::move(*tools));
    return tl::unexpected(device::no_host_memory());
  }
  if (auto held = lease->acquire(may_copy); !held) return tl::unexpected(held.error());
  if (const auto rewritten = lease->past_mirrors()) {
    auto copied = mirror::CopiedLease::begin(coherence_, *copies_, call, queues, *rewritten);
    if (copied || copied.error().kind != device::ErrorKind::out_of_memory) return copied;
    return begin(call, queues, shared, mirror::Copied::small);
  }
  if (auto prepared = lease->prepare(); !prepared) return tl::unexpected(prepared.error());
  return lease;
}

Status FirstUseLease::acquire(mirror::Copied may_copy) {
  if (shared_.tell_places) places_ = policy_.coherence().places(call_);
  auto acquisition = policy_.coherence().acquire(mirrored(call_), may_copy);
  if (!acquisition) return tl::unexpected(std::move(acquisition.error()));
  acquisition_ = std::move(*acquisition);
  held_ = !acquisition_.past_mirrors;
  if (held_ && needs_no_panels()) panels_ = operation::pieces(call_, call_.result_bytes());
  return {};
}

/// Panels are for results that go home while the next ones are computed, and for triangles: most of their panels are
/// products, which devices compute faster.
bool FirstUseLease::needs_no_panels() const {
  bool none = true;
  call_.each_result([&](std::size_t i, const operation::Operand& result) {
    none = none && acquisition_.stays[i] && result.part == operation::Part::full;
  });
  return none;
}

Status FirstUseLease::prepare() {
  traffic_.bytes_reused = acquisition_.bytes_reused;
  traffic_.bytes_rewritten = acquisition_.bytes_rewritten;
  traffic_.page_faults = acquisition_.page_faults;
  traffic_.copied_because = acquisition_.copied_because;
  if (panels_.size() > CommitLog::max_panels) policy_.coherence().stage_all(acquisition_);
  if (auto ordered = policy_.coherence().running().precede(queues_); !ordered) return ordered;
  if (auto taken = take_buffers(); !taken) return taken;
  if (auto brought = upload_.bring(copied()); !brought) return brought;
  if (shared_.sharing) shared_.sharing->supplied(shared_.part, shared_.number);
  if (policy_.settings().verify) {
    auto stale = mirror::repair_stale_pages(acquisition_, policy_.staging(), *queues_.upload);
    if (!stale) return tl::unexpected(stale.error());
    traffic_.stale_pages = *stale;
  }
  if (auto recorded = queues_.upload->record(*tools_->uploaded); !recorded) return recorded;
  if (auto ordered = queues_.compute->wait(*tools_->uploaded); !ordered) return ordered;
  only_copy_changed_ = acquisition_.updates_only_copy && call_.may_fail;
  if (only_copy_changed_)
    if (auto made = backup_.make(acquisition_, policy_.buffers(), *queues_.compute); !made) return made;
  return open_return_paths();
}

Status FirstUseLease::take_buffers() {
  for (std::size_t i = 0; i < call_.operands().size(); ++i) {
    const operation::Operand& operand = call_.operands()[i];
    if (has_mirror(i) || operand.empty()) continue;
    auto buffer = policy_.buffers().take(copy::device_bytes(operand, buffer_leading_dimension(i)));
    if (!buffer) return tl::unexpected(buffer.error());
    buffers_[i] = std::move(*buffer);
  }
  return {};
}

// Host memory holds what they are, whatever the device holds of the pages on which they lie.
std::vector<Transfer> FirstUseLease::copied() const {
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < call_.operands().size(); ++i) {
    const operation::Operand& operand = call_.operands()[i];
    if (!has_mirror(i) && operation::reads(operand.intent))
      copy::append_upload(operand, buffers_[i].address(), buffer_leading_dimension(i), transfers);
  }
  return transfers;
}

Status FirstUseLease::open_return_paths() {
  std::array<bool, mirror::ways.size()> taken{};
  call_.each_result([&](std::size_t i, const operation::Operand&) {
    ways_[i] = mirror::return_of(acquisition_, i);
    taken[static_cast<std::size_t>(ways_[i])] = true;
  });
  for (const mirror::Return way : mirror::ways)
    if (taken[static_cast<std::size_t>(way)])
      if (auto opened = open_return_path(way); !opened) return opened;
  return {};
}

Status FirstUseLease::open_return_path(mirror::Return way) {
  auto& path = paths_[static_cast<std::size_t>(way)];
  switch (way) {
    case mirror::Return::direct: {
      const bool may_tear = call_.updates();
      if (may_tear && !tools_->log) {
        auto log = CommitLog::create(policy_.device(), *queues_.download);
        if (!log) return tl::unexpected(log.error());
        tools_->log = std::move(*log);
      }
      path = mirror::direct_return(queues_, *tools_->computed, *tools_->diagonal_home,
                                   may_tear ? tools_->log.get() : nullptr);
      return {};
    }
    case mirror::Return::staged: path = mirror::staged_return(queues_, *tools_->computed, policy_.staging()); return {};
    case mirror::Return::none:
      path = mirror::staying_return(policy_.coherence(), acquisition_, queues_, policy_.staging(), traffic_);
      return {};
  }
  return {};
}

Result<operation::Operation> FirstUseLease::acquire(std::size_t index) {
  operation::Operation panel = panels_[index];
  for (std::size_t i = 0; i < panel.operands().size(); ++i) panel.operands()[i] = on_device(panels_[index], i);
  device_panels_.push_back(panel);
  return panel;
}

operation::Operand FirstUseLease::on_device(const operation::Operation& panel, std::size_t index) const {
  operation::Operand operand = panel.operands()[index];
  if (operand.empty()) return operand;
  const std::size_t origin = panel.origin(index);
  const operation::Operand& whole = call_.operands()[origin];
  if (has_mirror(origin)) {
    const auto offset = static_cast<const std::byte*>(operand.address) - static_cast<const std::byte*>(whole.address);
    operand.address = reinterpret_cast<void*>(acquisition_.addresses[origin] + static_cast<std::uintptr_t>(offset));
    return operand;
  }
  const std::int64_t leading_dimension = buffer_leading_dimension(origin);
  operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(
      buffers_[origin].address() + copy::device_offset(whole, leading_dimension, operand.address)));
  operand.leading_dimension = leading_dimension;
  return operand;
}

// The panel's arithmetic has been queued, so waiting for uploads here does not delay the device.
Status FirstUseLease::uploads_arrived() {
  policy_.coherence().look_for_dma_writers();
  if (acquisition_.loading) {
    auto arrived = tools_->uploaded->synchronize();
    policy_.coherence().loaded(acquisition_, arrived.has_value());
    if (!arrived) return arrived;
  }
  upload_.arrived();
  return {};
}

Status FirstUseLease::release(std::size_t index) {
  only_copy_changed_ = acquisition_.updates_only_copy;
  if (auto arrived = uploads_arrived(); !arrived) return arrived;
  if (index == 0 && path(mirror::Return::staged)) policy_.coherence().expect_staged_return(acquisition_);
  for (const mirror::Return way : mirror::ways)
    if (const Parcel sent = parcel(index, way); sent.count > 0)
      if (auto queued = path(way)->send(index, sent.span()); !queued) return queued;
  return {};
}

FirstUseLease::Parcel FirstUseLease::parcel(std::size_t index, mirror::Return way) const {
  Parcel result;
  const operation::Operation& panel = panels_[index];
  panel.each_result([&](std::size_t i, const operation::Operand& host) {
    if (ways_[panel.origin(i)] == way) result.results[result.count++] = {&host, &device_panels_[index].operands()[i]};
  });
  return result;
}

/// Whether nothing of what the device has still to do concerns this object or the program. A clock of the device's own
/// tells its seconds at once, and the call has them.
bool FirstUseLease::may_run_on() const {
  const bool has_buffers = std::ranges::any_of(buffers_, [](const auto& buffer) { return static_cast<bool>(buffer); });
  return !has_buffers && !backup_.made() && !shared_.sharing && !policy_.device().own_time() &&
         policy_.coherence().may_run_on(acquisition_);
}

Status FirstUseLease::finish() {
  if (path(mirror::Return::direct)) policy_.coherence().prepare_finish(acquisition_);
  if (upload_.pinned()) {
    const platform::Stopwatch waiting;
    if (auto arrived = tools_->uploaded->synchronize(); !arrived) return arrived;
    traffic_.transfer_seconds += waiting.seconds();
  }
  traffic_.runs_on = may_run_on();
  auto computed =
      traffic_.runs_on ? policy_.coherence().running().add(*queues_.compute) : queues_.compute->synchronize();
  if (!computed) return computed;
  const platform::Stopwatch stopwatch;
  for (const mirror::Return way : {mirror::Return::staged, mirror::Return::direct, mirror::Return::none})
    if (path(way))
      if (auto home = path(way)->wait(); !home) return home;
  traffic_.transfer_seconds += stopwatch.seconds();
  for (const operation::Operation& panel : panels_)
    panel.each_result([&](std::size_t i, const operation::Operand& result) {
      if (ways_[panel.origin(i)] != mirror::Return::none) traffic_.bytes_from_device += result.part_bytes();
    });
  upload_.withdraw();
  policy_.coherence().finish(acquisition_);
  finished_ = true;
  if (shared_.tell_places)
    platform::contained([&] { traffic_.places = policy_.coherence().places(acquisition_, places_); });
  return {};
}

// All work in flight must end before other calls may use the pages. After that, nothing on the device counts as
// current.
void FirstUseLease::abandon() {
  bool sound = true;
  for (device::Queue* queue : {queues_.upload.get(), queues_.compute.get(), queues_.download.get()})
    sound = queue->synchronize().has_value() && sound;
  for (const mirror::Return way : {mirror::Return::staged, mirror::Return::direct})
    if (path(way) && sound)
      sound = platform::contained([&] { sound = path(way)->wait().has_value(); }) &&
              sound;  // otherwise it may be the result of what failed
  if (backup_.made() && sound && backup_.restore(*queues_.compute)) only_copy_changed_ = false;
  upload_.arrived();
  upload_.withdraw();
  policy_.coherence().abandon(acquisition_);
  finished_ = true;
}

// One result at home beside another that is not can neither be vouched for nor made again. Nor can what the device has
// changed of a matrix of which it alone had the contents.
HostState FirstUseLease::host_state(std::size_t index) {
  if (!finished_) abandon();
  if (index >= device_panels_.size()) return HostState::untouched;
  if (only_copy_changed_) return HostState::torn;
  std::optional<HostState> all;
  for (const mirror::Return way : mirror::ways)
    if (parcel(index, way).count > 0) {
      const HostState state = path(way)->state(index);
      all = all.value_or(state) == state ? state : HostState::torn;
    }
  return all.value_or(HostState::complete);
}

}  // namespace

std::shared_ptr<mirror::Pins> create_pins(std::size_t limit) {
  return std::make_shared<mirror::Pins>(limit);
}

std::unique_ptr<Policy> create_first_use_policy(device::Device& device, Staging& staging, ledger::Ledger& ledger,
                                                const FirstUseSettings& settings) {
  return std::make_unique<FirstUsePolicy>(device, staging, ledger, settings);
}

}  // namespace blastoff::residency
