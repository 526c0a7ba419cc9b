#include "residency/copy_policy.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "platform/stopwatch.h"
#include "residency/commit_log.h"
#include "residency/copy/device_buffers.h"
#include "residency/copy/layout.h"

namespace blastoff::residency {
namespace {

/// Events that a panel needs.
struct PanelEvents {
  std::unique_ptr<device::Event> uploaded;
  std::unique_ptr<device::Event> computed;
  std::unique_ptr<device::Event> home;
};

/// What a lease needs beside its lane; kept between calls.
struct Tools {
  std::array<PanelEvents, copy::panels_in_progress> events;  ///< which the panels use in turn
  std::unique_ptr<CommitLog> log;                            ///< where results were returned directly
};

/// Adds the life time of the object to a sum of seconds.
class TimeSum {
 public:
  explicit TimeSum(double& sum) : sum_(sum) {}
  ~TimeSum() { sum_ += stopwatch_.seconds(); }
  TimeSum(const TimeSum&) = delete;
  TimeSum& operator=(const TimeSum&) = delete;

 private:
  double& sum_;
  const platform::Stopwatch stopwatch_;
};

class CopyPolicy : public Policy {
 public:
  CopyPolicy(device::Device& device, Staging& staging) : device_(device), staging_(staging), buffers_(device) {}

  const char* name() const override { return "copy"; }
  bool keeps_operands() const override { return false; }
  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override {
    operation::Estimate result;
    for (const operation::Operand& operand : operation.operands())
      if (operation::reads(operand.intent) && !operand.transient) result.missing += operand.part_bytes();
    return result;
  }
  device::Result<std::unique_ptr<Lease>> begin(const operation::Operation& call, device::Lane& lane) override {
    return begin_shared(call, lane, {});
  }
  device::Result<std::unique_ptr<Lease>> begin_shared(const operation::Operation& call, device::Lane& lane,
                                                      const Shared& shared) override;

  device::Device& device() { return device_; }
  Staging& staging() { return staging_; }
  copy::DeviceBuffers& buffers() { return buffers_; }
  void give_back(Tools tools) {
    const std::lock_guard lock(mutex_);
    idle_tools_.push_back(std::move(tools));
  }

 private:
  device::Result<Tools> take_tools();

  device::Device& device_;
  Staging& staging_;
  copy::DeviceBuffers buffers_;
  std::mutex mutex_;
  std::vector<Tools> idle_tools_;
};

class CopyLease : public Lease {
 public:
  /// `locks`: null, or page locks on operands, which are copied directly then.
  CopyLease(CopyPolicy& policy, const operation::Operation& call, device::Lane& lane, const PageLocks* locks,
            Tools tools)
      : policy_(policy), call_(call), lane_(lane), locks_(locks), tools_(std::move(tools)) {}
  ~CopyLease() override {
    if (!settled_) abandon();
    policy_.give_back(std::move(tools_));
  }

  /// Allocates device memory, with smaller and smaller panels.
  device::Status find_room();
  /// Prepares for results to return directly.
  device::Status open_log();

  const std::vector<operation::Operation>& panels() const override { return layout_.panels; }
  device::Result<operation::Operation> acquire(std::size_t index) override;
  device::Status release(std::size_t index) override;
  device::Status finish() override;
  HostState host_state(std::size_t index) override;
  const Traffic& traffic() const override { return traffic_; }

 private:
  struct PanelState {
    std::unique_ptr<Staging::Download> download;
    bool direct = false;  ///< the device writes it into host memory
    HostState host = HostState::untouched;
  };
  struct Results {
    std::array<Transfer, operation::Operation::most_operands> transfers;
    std::size_t count = 0;
    std::span<const Transfer> span() const { return {transfers.data(), count}; }
  };

  device::Status take_buffers();
  operation::Operand place(const operation::Operation& panel, std::size_t panel_index, std::size_t operand_index) const;
  void append_whole_operands(std::vector<Transfer>& transfers) const;
  device::Status upload(std::size_t index, std::vector<Transfer> transfers);
  device::Status upload_directly(std::vector<Transfer>& transfers);
  Results results_of(const operation::Operation& panel) const;
  bool may_return_directly(const Results& results) const;
  device::Status return_directly(std::size_t index, const Results& results);
  device::Status computed(std::size_t index);
  device::Status bring_home(std::size_t index);
  PanelEvents& events(std::size_t index) { return tools_.events[index % tools_.events.size()]; }
  void abandon();

  CopyPolicy& policy_;
  const operation::Operation call_;
  device::Lane& lane_;
  const PageLocks* const locks_;
  Tools tools_;
  copy::Layout layout_;
  std::array<std::array<copy::Buffer, copy::panels_in_progress>, operation::Operation::most_operands>
      buffers_;  ///< of operands; those in one piece use [0]
  std::vector<PanelState> states_;
  operation::Operation placed_;  ///< the panel acquired last, on the device
  Traffic traffic_;
  bool settled_ = false;  ///< no work of this lease is in flight
};

device::Result<Tools> CopyPolicy::take_tools() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_tools_.empty()) {
      Tools tools = std::move(idle_tools_.back());
      idle_tools_.pop_back();
      return tools;
    }
  }
  Tools tools;
  for (PanelEvents& panel : tools.events) {
    for (auto* event : {&panel.uploaded, &panel.computed, &panel.home}) {
      auto created = device_.create_event();
      if (!created) return tl::unexpected(created.error());
      *event = std::move(*created);
    }
  }
  return tools;
}

device::Result<std::unique_ptr<Lease>> CopyPolicy::begin_shared(const operation::Operation& call, device::Lane& lane,
                                                                const Shared& shared) {
  auto tools = take_tools();
  if (!tools) return tl::unexpected(tools.error());
  auto lease = std::make_unique<CopyLease>(*this, call, lane, shared.page_locks, std::move(*tools));
  auto ready = lease->find_room();
  if (ready) ready = lease->open_log();
  if (!ready) return tl::unexpected(ready.error());
  return lease;
}

device::Status CopyLease::find_room() {
  // With narrower panels the device computes much less efficiently.
  constexpr std::size_t most_panels = 64;
  const std::size_t least_bytes = std::max<std::size_t>(call_.result_bytes() / most_panels, 1);
  std::size_t panel_bytes = copy::suitable_panel_bytes(call_, policy_.staging().whole_download_bytes() / 2);
  layout_ = copy::lay_out(call_, panel_bytes);
  device::Status room = take_buffers();
  while (!room && room.error().kind == device::ErrorKind::out_of_memory && panel_bytes > least_bytes) {
    panel_bytes /= 2;
    copy::Layout smaller = copy::lay_out(call_, panel_bytes);
    if (smaller.device_bytes(call_) >= layout_.device_bytes(call_)) continue;
    layout_ = std::move(smaller);
    room = take_buffers();
  }
  if (room) states_.resize(layout_.panels.size());
  return room;
}

/// A result that is half written does harm only if the call reads it.
device::Status CopyLease::open_log() {
  if (!locks_ || !call_.updates()) return {};
  if (!tools_.log) {
    auto log = CommitLog::create(policy_.device(), *lane_.download);
    if (!log) return tl::unexpected(log.error());
    tools_.log = std::move(*log);
  }
  tools_.log->clear();
  return {};
}

/// All or none. What cannot fit frees no buffers of other calls.
device::Status CopyLease::take_buffers() {
  if (layout_.device_bytes(call_) > policy_.device().accountant().limit_of(device::MemoryClient::copies))
    return tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "the operands exceed the memory for copies"});
  for (std::size_t i = 0; i < call_.operands().size(); ++i) {
    const copy::OperandLayout& operand_layout = layout_.operands[i];
    if (operand_layout.same_as != i || operand_layout.buffer_bytes == 0) continue;
    const std::size_t count = operand_layout.whole ? 1 : layout_.buffers_per_slice;
    for (std::size_t k = 0; k < count; ++k) {
      auto buffer = policy_.buffers().take(operand_layout.buffer_bytes);
      if (!buffer) {
        buffers_ = {};
        return tl::unexpected(buffer.error());
      }
      buffers_[i][k] = std::move(*buffer);
    }
  }
  return {};
}

/// The panel's operand with device address and leading dimension.
operation::Operand CopyLease::place(const operation::Operation& panel, std::size_t panel_index,
                                    std::size_t operand_index) const {
  operation::Operand operand = panel.operands()[operand_index];
  const std::size_t parent_index = panel.origin(operand_index);
  const copy::OperandLayout& operand_layout = layout_.operands[parent_index];
  device::Address address = 0;
  if (operand_layout.whole) {
    const operation::Operand& parent = call_.operands()[parent_index];
    address = buffers_[operand_layout.same_as][0].address() +
              copy::device_offset(parent, operand_layout.leading_dimension, operand.address);
    operand.leading_dimension = operand_layout.leading_dimension;
  } else {
    address = buffers_[parent_index][panel_index % layout_.buffers_per_slice].address();
    operand.leading_dimension = copy::device_leading_dimension(operand);
  }
  operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return operand;
}

device::Address address_of(const operation::Operand& placed) {
  return reinterpret_cast<std::uintptr_t>(placed.address);
}

void CopyLease::append_whole_operands(std::vector<Transfer>& transfers) const {
  for (std::size_t i = 0; i < call_.operands().size(); ++i) {
    const copy::OperandLayout& operand_layout = layout_.operands[i];
    if (operand_layout.same_as != i || !operand_layout.whole) continue;
    copy::append_upload(call_.operands()[i], buffers_[i][0].address(), operand_layout.leading_dimension, transfers);
  }
}

device::Status CopyLease::upload(std::size_t index, std::vector<Transfer> transfers) {
  const TimeSum waiting(traffic_.transfer_seconds);
  for (const Transfer& transfer : transfers) {
    traffic_.bytes_to_device += transfer.block.column_bytes * transfer.block.columns;
  }
  if (auto queued = upload_directly(transfers); !queued) return queued;
  if (auto uploaded = policy_.staging().upload(transfers, *lane_.upload); !uploaded) return uploaded;
  if (auto recorded = lane_.upload->record(*events(index).uploaded); !recorded) return recorded;
  return lane_.compute->wait(*events(index).uploaded);
}

/// Queues what can be copied from page-locked memory, and takes it off the list.
device::Status CopyLease::upload_directly(std::vector<Transfer>& transfers) {
  if (!locks_) return {};
  const auto direct = std::partition(transfers.begin(), transfers.end(), [&](const Transfer& each) {
    return !suits_copy_engine(each) || !locks_->readable(host_span(each));
  });
  for (auto each = direct; each != transfers.end(); ++each)
    if (auto queued = lane_.upload->copy_to_device(each->device, each->host, joined(each->block)); !queued)
      return queued;
  transfers.erase(direct, transfers.end());
  return {};
}

device::Result<operation::Operation> CopyLease::acquire(std::size_t index) {
  if (index >= layout_.buffers_per_slice) {
    // The previous panel in these buffers: once it has been copied back, nothing on the device uses them any more.
    if (auto home = bring_home(index - layout_.buffers_per_slice); !home) return tl::unexpected(home.error());
  }
  const operation::Operation& panel = layout_.panels[index];
  placed_ = panel;
  std::vector<Transfer> transfers;
  if (index == 0) append_whole_operands(transfers);
  for (std::size_t i = 0; i < panel.operands().size(); ++i) {
    placed_.operands()[i] = place(panel, index, i);
    const operation::Operand& operand = panel.operands()[i];
    if (layout_.operands[panel.origin(i)].whole || !operation::reads(operand.intent)) continue;
    const operation::Operand& placed = placed_.operands()[i];
    copy::append_upload(operand, address_of(placed), placed.leading_dimension, transfers);
  }
  if (auto uploaded = upload(index, std::move(transfers)); !uploaded) return tl::unexpected(uploaded.error());
  return placed_;
}

device::Status CopyLease::release(std::size_t index) {
  device::Event& computed_event = *events(index).computed;
  if (auto recorded = lane_.compute->record(computed_event); !recorded) return recorded;
  if (auto ordered = lane_.download->wait(computed_event); !ordered) return ordered;
  const operation::Operation& panel = layout_.panels[index];
  const Results results = results_of(panel);
  if (may_return_directly(results)) return return_directly(index, results);
  if (panel.result_bytes() > policy_.staging().whole_download_bytes()) {
    // Staging may write the first parts of them while the rest is on its way.
    if (auto done = computed(index); !done) return done;
  }
  auto download = policy_.staging().download(results.span(), *lane_.download);
  if (!download) return tl::unexpected(download.error());
  states_[index].download = std::move(*download);
  return {};
}

CopyLease::Results CopyLease::results_of(const operation::Operation& panel) const {
  Results results;
  panel.each_result([&](std::size_t i, const operation::Operand& host) {
    const operation::Operand& placed = placed_.operands()[i];
    results.transfers[results.count++] = copy::result_transfer(host, address_of(placed), placed.leading_dimension);
  });
  return results;
}

bool CopyLease::may_return_directly(const Results& results) const {
  return locks_ && states_.size() <= CommitLog::most_panels &&
         std::ranges::all_of(results.span(), [&](const Transfer& each) {
           return suits_copy_engine(each) && locks_->writable(host_span(each));
         });
}

device::Status CopyLease::return_directly(std::size_t index, const Results& results) {
  device::Queue& queue = *lane_.download;
  CommitLog* const log = call_.updates() ? tools_.log.get() : nullptr;
  states_[index].direct = true;
  if (log)
    if (auto marked = log->begin(queue, index); !marked) return marked;
  for (const Transfer& each : results.span())
    if (auto queued = queue.copy_to_host(each.host, each.device, joined(each.block)); !queued) return queued;
  if (log)
    if (auto marked = log->end(queue, index); !marked) return marked;
  return queue.record(*events(index).home);
}

/// Waits for the panel's operation. An error on one queue may not appear on the queues that waited for it.
device::Status CopyLease::computed(std::size_t index) {
  if (auto uploaded = events(index).uploaded->synchronize(); !uploaded) return uploaded;
  return events(index).computed->synchronize();
}

device::Status CopyLease::bring_home(std::size_t index) {
  PanelState& state = states_[index];
  if (state.host == HostState::complete) return {};
  if (state.download == nullptr && !state.direct) return {};
  if (auto done = computed(index); !done) return done;
  const TimeSum waiting(traffic_.transfer_seconds);
  auto finished = state.direct ? events(index).home->synchronize() : state.download->finish();
  if (finished) {
    state.host = HostState::complete;
    layout_.panels[index].each_result(
        [&](std::size_t, const operation::Operand& host) { traffic_.bytes_from_device += host.part_bytes(); });
    state.download.reset();
  }
  return finished;
}

device::Status CopyLease::finish() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (auto home = bring_home(i); !home) return home;
  }
  settled_ = true;
  return {};
}

/// Ends the work in flight. After an error nothing more is copied back, because it may be the result of a failed
/// operation.
void CopyLease::abandon() {
  (void)lane_.upload->synchronize();
  (void)lane_.compute->synchronize();
  (void)lane_.download->synchronize();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    PanelState& state = states_[i];
    if (state.direct && state.host != HostState::complete && call_.updates()) state.host = tools_.log->state(i);
    if (state.download != nullptr && state.download->host_touched()) state.host = HostState::torn;
    state.download.reset();
  }
  settled_ = true;
}

HostState CopyLease::host_state(std::size_t index) {
  if (!settled_) abandon();
  return states_[index].host;
}

}  // namespace

std::unique_ptr<Policy> create_copy_policy(device::Device& device, Staging& staging) {
  return std::make_unique<CopyPolicy>(device, staging);
}

}  // namespace blastoff::residency
