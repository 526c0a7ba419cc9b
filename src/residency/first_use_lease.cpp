#include "residency/first_use_lease.h"

#include <algorithm>
#include <span>
#include <utility>

#include "platform/contained.h"
#include "platform/stopwatch.h"
#include "residency/copy/layout.h"
#include "residency/footprint.h"
#include "residency/mirror/mirror_check.h"

namespace blastoff::residency {

using device::Result;
using device::Status;

namespace {

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

}  // namespace

/// What of a panel goes home on one way.
struct FirstUseLease::Parcel {
  std::array<mirror::Returned, operation::Operation::max_operands> results;
  std::size_t count = 0;
  std::span<const mirror::Returned> span() const { return {results.data(), count}; }
};

FirstUseLease::FirstUseLease(const LeaseMeans& means, device::CallQueues& queues, const operation::Operation& call,
                             const Shared& shared, std::unique_ptr<FirstUseTools>& tools)
    : means_(means),
      queues_(queues),
      call_(call),
      shared_(shared),
      upload_(means.coherence, means.staging, queues, acquisition_, shared_,
              {means.settings.min_borrowed, means.settings.patience}, traffic_),
      panels_(operation::pieces(call_, panel_bytes(call_, means.settings.panels))),
      tools_(std::move(tools)) {}

FirstUseLease::~FirstUseLease() {
  if (held_ && !finished_) abandon();
  means_.toolbox.give_back(std::move(tools_));
}

std::int64_t FirstUseLease::buffer_leading_dimension(std::size_t index) const {
  return copy::device_leading_dimension(call_.operands()[index]);
}

Status FirstUseLease::acquire(mirror::Copied may_copy) {
  if (shared_.tell_places) places_ = means_.coherence.places(call_);
  auto acquisition = means_.coherence.acquire(mirrored(call_), may_copy);
  if (!acquisition) return tl::unexpected(std::move(acquisition.error()));
  acquisition_ = std::move(*acquisition);
  held_ = !acquisition_.past_mirrors;
  if (held_ && shared_.sharing) shared_.sharing->claimed(shared_.part, shared_.number, &means_.coherence.place());
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
  if (panels_.size() > CommitLog::max_panels) means_.coherence.stage_all(acquisition_);
  if (auto ordered = means_.coherence.running().precede(queues_); !ordered) return ordered;
  if (auto taken = take_buffers(); !taken) return taken;
  if (auto brought = upload_.bring(copied()); !brought) return brought;
  if (means_.settings.verify) {
    auto stale = mirror::repair_stale_pages(acquisition_, means_.staging, *queues_.upload);
    if (!stale) return tl::unexpected(stale.error());
    traffic_.stale_pages = *stale;
  }
  if (auto recorded = queues_.upload->record(*tools_->uploaded); !recorded) return recorded;
  if (auto ordered = queues_.compute->wait(*tools_->uploaded); !ordered) return ordered;
  only_copy_changed_ = acquisition_.updates_only_copy && call_.may_fail;
  if (only_copy_changed_)
    if (auto made = backup_.make(acquisition_, means_.buffers, *queues_.compute); !made) return made;
  return open_return_paths();
}

Status FirstUseLease::take_buffers() {
  for (std::size_t i = 0; i < call_.operands().size(); ++i) {
    const operation::Operand& operand = call_.operands()[i];
    if (has_mirror(i) || operand.empty()) continue;
    auto buffer = means_.buffers.take(copy::device_bytes(operand, buffer_leading_dimension(i)));
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
      if (may_tear)
        if (auto logs = tools_->need_log(means_.device, *queues_.download); !logs) return logs;
      path = mirror::direct_return(queues_, *tools_->computed, *tools_->diagonal_home,
                                   may_tear ? tools_->log.get() : nullptr);
      return {};
    }
    case mirror::Return::staged: path = mirror::staged_return(queues_, *tools_->computed, means_.staging); return {};
    case mirror::Return::none:
      path = mirror::staying_return(means_.coherence, acquisition_, queues_, means_.staging, traffic_);
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
  means_.coherence.look_for_dma_writers();
  if (acquisition_.loading) {
    auto arrived = tools_->uploaded->synchronize();
    means_.coherence.loaded(acquisition_, arrived.has_value());
    if (!arrived) return arrived;
  }
  upload_.arrived();
  return {};
}

Status FirstUseLease::release(std::size_t index) {
  only_copy_changed_ = acquisition_.updates_only_copy;
  if (auto arrived = uploads_arrived(); !arrived) return arrived;
  if (index == 0 && path(mirror::Return::staged)) means_.coherence.expect_staged_return(acquisition_);
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
  return !has_buffers && !backup_.made() && !shared_.sharing && !means_.device.own_time() &&
         means_.coherence.may_run_on(acquisition_);
}

std::vector<mirror::RunningCalls::Use> FirstUseLease::device_memory() const {
  std::vector<mirror::RunningCalls::Use> uses;
  mirror::each_mirrored(acquisition_, [&](std::size_t i, const operation::Operand& operand) {
    uses.push_back({acquisition_.addresses[i], operand.span_bytes(), mirror::scribbles(operand.intent)});
  });
  return uses;
}

/// Waits for the arithmetic unless the call returns before.
Status FirstUseLease::compute_or_run_on() {
  if (may_run_on()) {
    if (auto added = means_.coherence.running().add(*queues_.compute, device_memory()); !added) return added;
    traffic_.runs_on = means_.coherence.alone();
  }
  return traffic_.runs_on ? Status{} : queues_.compute->synchronize();
}

Status FirstUseLease::finish() {
  if (path(mirror::Return::direct)) means_.coherence.prepare_finish(acquisition_);
  if (upload_.pinned()) {
    const platform::Stopwatch waiting;
    if (auto arrived = tools_->uploaded->synchronize(); !arrived) return arrived;
    traffic_.transfer_seconds += waiting.seconds();
  }
  if (auto computed = compute_or_run_on(); !computed) return computed;
  const platform::Stopwatch stopwatch;
  for (const mirror::Return way : {mirror::Return::staged, mirror::Return::direct, mirror::Return::none})
    if (path(way))
      if (auto home = path(way)->wait(); !home) return home;
  traffic_.transfer_seconds += stopwatch.seconds();
  for (const operation::Operation& panel : panels_)
    panel.each_result([&](std::size_t i, const operation::Operand& result) {
      if (ways_[panel.origin(i)] != mirror::Return::none) traffic_.bytes_from_device += result.part_bytes();
    });
  means_.coherence.finish(acquisition_);
  finished_ = true;
  if (shared_.tell_places)
    platform::contained([&] { traffic_.places = means_.coherence.places(acquisition_, places_); });
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
  means_.coherence.abandon(acquisition_);
  finished_ = true;
}

// If one result is at home and another is not, the results can neither be vouched for nor made again. The same holds
// for what the device has changed of a matrix whose contents it alone had.
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

}  // namespace blastoff::residency
