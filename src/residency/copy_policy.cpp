#include "residency/copy_policy.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "platform/contained.h"
#include "platform/stopwatch.h"
#include "residency/copy/layout.h"
#include "residency/toolbox.h"
#include "residency/transfers.h"

namespace blastoff::residency {
namespace {

/// Events that a panel needs.
struct PanelEvents {
  std::unique_ptr<device::Event> uploaded;
  std::unique_ptr<device::Event> computed;
  std::unique_ptr<device::Event> home;
};

struct CopyTools : LeaseTools {
  std::array<PanelEvents, copy::panels_in_progress> of_panels;  ///< which the panels use in turn

  std::vector<std::unique_ptr<device::Event>*> events() {
    std::vector<std::unique_ptr<device::Event>*> all;
    for (PanelEvents& panel : of_panels) all.insert(all.end(), {&panel.uploaded, &panel.computed, &panel.home});
    return all;
  }
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
  CopyPolicy(device::Device& device, Staging& staging, std::shared_ptr<device::MemoryPool> buffers)
      : device_(device), staging_(staging), buffers_(std::move(buffers)), toolbox_(device) {}

  const char* name() const override { return "copy"; }
  bool keeps_operands() const override { return false; }
  std::optional<operation::Estimate> estimate(const operation::Operation& operation) override {
    operation::Estimate result;
    for (const operation::Operand& operand : operation.operands())
      if (operation::reads(operand.intent) && !operand.transient) result.missing += operand.part_bytes();
    return result;
  }
  device::Result<std::unique_ptr<Lease>> begin_shared(const operation::Operation& call, device::CallQueues& queues,
                                                      const Shared& shared) override {
    return begin_series({&call, 1}, queues, shared);
  }
  device::Result<std::unique_ptr<Lease>> begin_series(std::span<const operation::Operation> calls,
                                                      device::CallQueues& queues, const Shared& shared) override;
  void release_operands() override { buffers_->trim(); }

  device::Device& device() { return device_; }
  Staging& staging() { return staging_; }
  device::MemoryPool& buffers() { return *buffers_; }
  Toolbox<CopyTools>& toolbox() { return toolbox_; }

 private:
  device::Device& device_;
  Staging& staging_;
  const std::shared_ptr<device::MemoryPool> buffers_;
  Toolbox<CopyTools> toolbox_;
};

/// One call, or a series. What two neighbours of a series need whole is on the device at once, and their panels go
/// through the same buffers.
class CopyLease : public Lease {
 public:
  /// `locks`: null, or page locks on operands, which are copied directly then.
  CopyLease(CopyPolicy& policy, std::span<const operation::Operation> calls, device::CallQueues& queues,
            const PageLocks* locks, std::unique_ptr<CopyTools>& tools)
      : policy_(policy), calls_(calls.begin(), calls.end()), queues_(queues), locks_(locks), tools_(std::move(tools)) {}
  ~CopyLease() override {
    if (!settled_) abandon();
    policy_.toolbox().give_back(std::move(tools_));
  }

  /// Allocates device memory, with smaller and smaller panels.
  device::Status find_room();
  /// Prepares for results to return directly.
  device::Status open_log();

  const std::vector<operation::Operation>& panels() const override { return panels_; }
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
    std::array<Transfer, operation::Operation::max_operands> transfers;
    std::size_t count = 0;
    std::span<const Transfer> span() const { return {transfers.data(), count}; }
  };

  /// Most calls of a series whose operands are on the device at once.
  static constexpr std::size_t calls_at_once = 2;

  device::Status lay_out(std::size_t panel_bytes);
  std::size_t buffer_count(const copy::OperandLayout& operand) const;
  std::size_t bytes_needed() const;
  device::Status take_buffers();
  operation::Operand place(const operation::Operation& panel, std::size_t panel_index, std::size_t operand_index) const;
  void plan_whole_operands(std::size_t number);
  device::Status bring_ahead(std::size_t index);
  device::Status queue_uploads(std::vector<Transfer> transfers);
  device::Status upload(std::size_t index, std::vector<Transfer> transfers);
  Results results_of(const operation::Operation& panel) const;
  bool may_return_directly(const Results& results) const;
  device::Status return_directly(std::size_t index, const Results& results);
  device::Status computed(std::size_t index);
  device::Status bring_home(std::size_t index);
  PanelEvents& events(std::size_t index) { return tools_->of_panels[index % tools_->of_panels.size()]; }
  void abandon();

  CopyPolicy& policy_;
  const std::vector<operation::Operation> calls_;
  device::CallQueues& queues_;
  const PageLocks* const locks_;
  std::unique_ptr<CopyTools> tools_;
  /// Where a call's operands go; of a series, buffers as large as any of its calls needs.
  std::array<copy::OperandLayout, operation::Operation::max_operands> operands_{};
  std::size_t buffers_per_slice_ = 1;
  std::vector<operation::Operation> panels_;  ///< of all calls
  std::vector<std::size_t> first_panels_;     ///< of each call, and the number of all
  std::vector<std::size_t> call_of_;          ///< of each panel, its number
  std::array<std::array<device::PooledMemory, copy::panels_in_progress>, operation::Operation::max_operands>
      buffers_;  ///< of operands, used in turn: by the calls for those in one piece, by the panels for others
  std::vector<PanelState> states_;
  std::size_t next_call_ = 0;    ///< whose whole operands are being brought, or are to be
  std::vector<Transfer> whole_;  ///< what is left of these
  operation::Operation placed_;  ///< the panel acquired last, on the device
  Traffic traffic_;
  bool settled_ = false;  ///< no work of this lease is in flight
};

device::Result<std::unique_ptr<Lease>> CopyPolicy::begin_series(std::span<const operation::Operation> calls,
                                                                device::CallQueues& queues, const Shared& shared) {
  auto tools = toolbox_.take();
  if (!tools) return tl::unexpected(tools.error());
  std::unique_ptr<CopyLease> lease;
  if (!platform::contained(
          [&] { lease = std::make_unique<CopyLease>(*this, calls, queues, shared.page_locks, *tools); })) {
    toolbox_.give_back(std::move(*tools));
    return tl::unexpected(device::no_host_memory());
  }
  auto ready = lease->find_room();
  if (ready) ready = lease->open_log();
  if (!ready) return tl::unexpected(ready.error());
  return lease;
}

device::Status CopyLease::find_room() {
  // With narrower panels the device computes much less efficiently.
  constexpr std::size_t max_panels = 64;
  const std::size_t max_staged = policy_.staging().whole_download_bytes() / 2;
  const bool solves_directly = locks_ && calls_.front().cutting == operation::Cutting::wide_strips;
  std::size_t result_bytes = 0;
  std::size_t panel_bytes = 0;
  for (const operation::Operation& call : calls_) {
    result_bytes = std::max(result_bytes, call.result_bytes());
    panel_bytes += copy::suitable_panel_bytes(call, solves_directly ? call.result_bytes() : max_staged);
  }
  if (!solves_directly) panel_bytes = std::min(panel_bytes, max_staged);
  const std::size_t min_bytes = std::max<std::size_t>(result_bytes / max_panels, 1);
  if (auto laid_out = lay_out(panel_bytes); !laid_out) return laid_out;
  device::Status room = take_buffers();
  while (!room && room.error().kind == device::ErrorKind::out_of_memory && panel_bytes > min_bytes) {
    panel_bytes /= 2;
    const std::size_t bytes_before = bytes_needed();
    if (auto laid_out = lay_out(panel_bytes); !laid_out) return laid_out;
    if (bytes_needed() < bytes_before) room = take_buffers();
  }
  if (!room) return room;
  states_.resize(panels_.size());
  plan_whole_operands(0);
  return {};
}

/// The error: calls of a series whose operands do not go the same way.
device::Status CopyLease::lay_out(std::size_t panel_bytes) {
  panels_.clear();
  first_panels_ = {0};
  call_of_.clear();
  for (std::size_t number = 0; number < calls_.size(); ++number) {
    copy::Layout layout = copy::lay_out(calls_[number], panel_bytes);
    for (std::size_t i = 0; i < calls_[number].operands().size(); ++i) {
      copy::OperandLayout& common = operands_[i];
      const copy::OperandLayout& own = layout.operands[i];
      if (number > 0 && (own.whole != common.whole || own.same_as != common.same_as))
        return tl::unexpected(device::Error{device::ErrorKind::unsupported, "operands of different layouts"});
      const std::size_t bytes_before = number > 0 ? common.buffer_bytes : 0;
      common = own;
      common.buffer_bytes = std::max(own.buffer_bytes, bytes_before);
    }
    std::ranges::move(layout.panels, std::back_inserter(panels_));
    first_panels_.push_back(panels_.size());
    call_of_.resize(panels_.size(), number);
  }
  buffers_per_slice_ = std::min(panels_.size(), copy::panels_in_progress);
  return {};
}

std::size_t CopyLease::buffer_count(const copy::OperandLayout& operand) const {
  return operand.whole ? std::min(calls_.size(), calls_at_once) : buffers_per_slice_;
}

std::size_t CopyLease::bytes_needed() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < calls_.front().operands().size(); ++i)
    if (operands_[i].same_as == i) sum += operands_[i].buffer_bytes * buffer_count(operands_[i]);
  return sum;
}

/// A result that is half written does harm only if the call reads it.
device::Status CopyLease::open_log() {
  if (!locks_ || !calls_.front().updates()) return {};
  if (auto logs = tools_->need_log(policy_.device(), *queues_.download); !logs) return logs;
  tools_->log->clear();
  return {};
}

/// All or none. What cannot fit frees no buffers of other calls.
device::Status CopyLease::take_buffers() {
  if (bytes_needed() > policy_.device().accountant().limit_of(device::MemoryClient::copies))
    return tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "the operands exceed the memory for copies"});
  for (std::size_t i = 0; i < calls_.front().operands().size(); ++i) {
    const copy::OperandLayout& operand = operands_[i];
    if (operand.same_as != i || operand.buffer_bytes == 0) continue;
    for (std::size_t k = 0; k < buffer_count(operand); ++k) {
      auto buffer = policy_.buffers().take(operand.buffer_bytes);
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
  device::Address address = 0;
  if (operands_[parent_index].whole) {
    const std::size_t number = call_of_[panel_index];
    const operation::Operand& parent = calls_[number].operands()[parent_index];
    const std::int64_t leading_dimension = copy::device_leading_dimension(parent);
    address = buffers_[operands_[parent_index].same_as][number % calls_at_once].address() +
              copy::device_offset(parent, leading_dimension, operand.address);
    operand.leading_dimension = leading_dimension;
  } else {
    address = buffers_[parent_index][panel_index % buffers_per_slice_].address();
    operand.leading_dimension = copy::device_leading_dimension(operand);
  }
  operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return operand;
}

device::Address address_of(const operation::Operand& placed) {
  return reinterpret_cast<std::uintptr_t>(placed.address);
}

/// What this call of the series needs whole is the next to be brought.
void CopyLease::plan_whole_operands(std::size_t number) {
  next_call_ = number;
  whole_.clear();
  if (number == calls_.size()) return;
  const auto operands = calls_[number].operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands_[i].same_as == i && operands_[i].whole)
      copy::append_upload(operands[i], buffers_[i][number % calls_at_once].address(),
                          copy::device_leading_dimension(operands[i]), whole_);
}

/// After the panel's own operands: its share of what the next call of the series needs whole, so that the last panel
/// completes it. The buffers are those of the call before this one, all of whose panels must be home.
device::Status CopyLease::bring_ahead(std::size_t index) {
  const std::size_t number = call_of_[index];
  if (next_call_ != number + 1 || whole_.empty()) return {};
  if (number > 0 && states_[first_panels_[number] - 1].host != HostState::complete) return {};
  const std::size_t panels_left = first_panels_[number + 1] - index;
  const TimeSum waiting(traffic_.transfer_seconds);
  return queue_uploads(take_off(whole_, (bytes_of(whole_) - 1) / panels_left + 1));
}

device::Status CopyLease::queue_uploads(std::vector<Transfer> transfers) {
  traffic_.bytes_to_device += bytes_of(transfers);
  if (locks_) {
    const auto direct = copy_directly(transfers, *queues_.upload,
                                      [&](const Transfer& each) { return locks_->readable(host_span(each)); });
    if (!direct) return tl::unexpected(direct.error());
  }
  return transfers.empty() ? device::Status{} : policy_.staging().upload(transfers, *queues_.upload);
}

device::Result<operation::Operation> CopyLease::acquire(std::size_t index) {
  if (index >= buffers_per_slice_) {
    // The previous panel in these buffers: once it has been copied back, nothing on the device uses them any more.
    if (auto home = bring_home(index - buffers_per_slice_); !home) return tl::unexpected(home.error());
  }
  const operation::Operation& panel = panels_[index];
  const std::size_t number = call_of_[index];
  placed_ = panel;
  std::vector<Transfer> transfers;
  if (index == first_panels_[number]) {
    // The results of the call before the last one go home now.
    if (number >= calls_at_once)
      if (auto home = bring_home(first_panels_[number - 1] - 1); !home) return tl::unexpected(home.error());
    transfers = std::move(whole_);
    plan_whole_operands(number + 1);
  }
  for (std::size_t i = 0; i < panel.operands().size(); ++i) {
    placed_.operands()[i] = place(panel, index, i);
    const operation::Operand& operand = panel.operands()[i];
    if (operands_[panel.origin(i)].whole || !operation::reads(operand.intent)) continue;
    const operation::Operand& placed = placed_.operands()[i];
    copy::append_upload(operand, address_of(placed), placed.leading_dimension, transfers);
  }
  if (auto uploaded = upload(index, std::move(transfers)); !uploaded) return tl::unexpected(uploaded.error());
  if (auto ahead = bring_ahead(index); !ahead) return tl::unexpected(ahead.error());
  return placed_;
}

/// What the panel needs; the device computes it once that is there.
device::Status CopyLease::upload(std::size_t index, std::vector<Transfer> transfers) {
  const TimeSum waiting(traffic_.transfer_seconds);
  if (auto queued = queue_uploads(std::move(transfers)); !queued) return queued;
  if (auto recorded = queues_.upload->record(*events(index).uploaded); !recorded) return recorded;
  return queues_.compute->wait(*events(index).uploaded);
}

device::Status CopyLease::release(std::size_t index) {
  device::Event& computed_event = *events(index).computed;
  if (auto recorded = queues_.compute->record(computed_event); !recorded) return recorded;
  if (auto ordered = queues_.download->wait(computed_event); !ordered) return ordered;
  const operation::Operation& panel = panels_[index];
  const Results results = results_of(panel);
  if (may_return_directly(results)) return return_directly(index, results);
  if (panel.result_bytes() > policy_.staging().whole_download_bytes()) {
    // Staging may write the first parts of them while the rest is on its way.
    if (auto done = computed(index); !done) return done;
  }
  auto download = policy_.staging().download(results.span(), *queues_.download);
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
  const bool logged = !calls_.front().updates() || states_.size() <= CommitLog::max_panels;
  return locks_ && logged && std::ranges::all_of(results.span(), [&](const Transfer& each) {
           return suits_copy_engine(each) && locks_->writable(host_span(each));
         });
}

device::Status CopyLease::return_directly(std::size_t index, const Results& results) {
  device::Queue& queue = *queues_.download;
  CommitLog* const log = calls_.front().updates() ? tools_->log.get() : nullptr;
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
    panels_[index].each_result(
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
  (void)queues_.upload->synchronize();
  (void)queues_.compute->synchronize();
  (void)queues_.download->synchronize();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    PanelState& state = states_[i];
    if (state.direct && state.host != HostState::complete && calls_.front().updates())
      state.host = tools_->log->state(i);
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

std::unique_ptr<Policy> create_copy_policy(device::Device& device, Staging& staging,
                                           std::shared_ptr<device::MemoryPool> buffers) {
  return std::make_unique<CopyPolicy>(device, staging, buffers ? std::move(buffers) : create_buffers(device));
}

std::shared_ptr<device::MemoryPool> create_buffers(device::Device& device) {
  return std::make_shared<device::MemoryPool>(device::memory_of(device, device::MemoryClient::copies));
}

}  // namespace blastoff::residency
