#include "residency/staging/staged_download.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <utility>

#include "platform/contained.h"

namespace blastoff::residency::staging {

device::Result<std::unique_ptr<Staging::Download>> StagedDownload::start(Slots& slots, platform::WorkerPool& pool,
                                                                         Plan plan, device::Queue& queue) {
  const std::size_t most = std::max<std::size_t>(1, slots.count() / 2);  // uploads and other calls need some too
  std::unique_ptr<StagedDownload> download(new StagedDownload(slots, pool, std::move(plan)));
  const bool at_once = download->plan_.loads.size() <= most;
  auto started = at_once ? download->queue_all(queue) : download->bring_home_in_turns(queue, most);
  if (!started && !download->touched_) return tl::unexpected(started.error());
  if (!started) download->status_ = std::move(started);
  return download;
}

/// Records one event for all copies, in the last slot.
device::Status StagedDownload::queue_turn(const Turn& turn, device::Queue& queue) {
  for (std::size_t i = turn.first; i < turn.end; ++i) {
    std::byte* memory = turn.slots[i - turn.first]->memory;
    auto queued = for_each_copy(plan_.of(plan_.loads[i]), [&](const SlotCopy& copy) {
      return queue.copy_to_host(memory + copy.slot_offset, copy.device, copy.block);
    });
    if (!queued) return queued;
  }
  return queue.record(*turn.slots[turn.end - turn.first - 1]->event);
}

device::Status StagedDownload::queue_all(device::Queue& queue) {
  if (plan_.loads.empty()) return {};
  in_slots_.reserve(plan_.loads.size());
  held_ = slots_.take(plan_.loads.size());
  device::Status queued = tl::unexpected(device::no_host_memory());
  platform::contained([&] { queued = queue_turn({0, plan_.loads.size(), held_}, queue); });
  if (queued) {
    slots_.remember(*this);
  } else {
    (void)queue.synchronize();
    release_slots();
  }
  return queued;
}

/// Two groups of slots take turns: one is filled by the device while the other is emptied into host memory.
std::vector<StagedDownload::Turn> StagedDownload::take_turns() const {
  const std::span<Slot* const> held(held_);
  const std::size_t half = (held.size() + 1) / 2;
  const std::array groups = {held.first(half), held.size() > 1 ? held.subspan(half) : held};
  std::vector<Turn> turns;
  for (std::size_t at = 0; at < plan_.loads.size(); at = turns.back().end) {
    const auto& group = groups[turns.size() % 2];
    turns.push_back({at, std::min(at + group.size(), plan_.loads.size()), group});
  }
  return turns;
}

device::Status StagedDownload::bring_home_in_turns(device::Queue& queue, std::size_t most) {
  in_slots_.reserve(most);
  held_ = slots_.take(most);
  device::Status status = tl::unexpected(device::no_host_memory());
  platform::contained([&] { status = bring_turns_home(queue, most); });
  if (!status) (void)queue.synchronize();
  release_slots();
  return status;
}

device::Status StagedDownload::bring_turns_home(device::Queue& queue, std::size_t most) {
  const auto turns = take_turns();
  const std::size_t ahead = most > 1 ? 2 : 1;
  std::size_t queued = 0;
  device::Status status;
  for (std::size_t i = 0; i < turns.size() && status; ++i) {
    for (; queued < std::min(i + ahead, turns.size()) && status; ++queued) status = queue_turn(turns[queued], queue);
    if (status) status = turns[i].slots[turns[i].end - turns[i].first - 1]->event->synchronize();
    if (status) scatter_turn(turns[i]);
  }
  return status;
}

/// The owner needs the slots before it has asked for the result. The result then waits in ordinary memory.
void StagedDownload::complete() {
  status_ = held_[plan_.loads.size() - 1]->event->synchronize();
  if (status_) {
    const std::size_t bytes = slots_.slot_bytes();
    spilled_.reset(new (std::nothrow) std::byte[held_.size() * bytes]);
    for (std::size_t i = 0; i < held_.size() && spilled_; ++i) {
      std::memcpy(&spilled_[i * bytes], held_[i]->memory, bytes);
    }
    if (!spilled_) {
      status_ = tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "no host memory to keep a result in"});
    }
  }
  release_slots();
}

device::Status StagedDownload::finish() {
  if (slots_.forget(*this)) {
    status_ = held_[plan_.loads.size() - 1]->event->synchronize();
    if (status_) scatter_turn({0, plan_.loads.size(), held_});
    release_slots();
  } else if (const auto spilled = std::exchange(spilled_, nullptr)) {
    in_slots_.clear();
    for (std::size_t i = 0; i < plan_.loads.size(); ++i) in_slots_.push_back(&spilled[i * slots_.slot_bytes()]);
    scatter_loads(0, plan_.loads.size(), in_slots_);
  }
  return status_;
}

StagedDownload::~StagedDownload() {
  if (!slots_.forget(*this)) return;
  (void)held_[plan_.loads.size() - 1]->event->synchronize();
  release_slots();
}

void StagedDownload::scatter_turn(const Turn& turn) {
  in_slots_.clear();
  for (Slot* slot : turn.slots) in_slots_.push_back(slot->memory);
  scatter_loads(turn.first, turn.end, in_slots_);
}

/// From here on nothing takes memory: a result that is half in host memory could not be made right. Loads [first, end),
/// of which the first is in memory[0].
void StagedDownload::scatter_loads(std::size_t first, std::size_t end, std::span<const std::byte* const> memory) {
  constexpr std::size_t worth_a_worker = std::size_t{1} << 20;
  const auto in_loads = [](std::size_t bound) { return [bound](const Share& share) { return share.load < bound; }; };
  const auto begin_share = std::partition_point(plan_.shares.begin(), plan_.shares.end(), in_loads(first));
  const auto end_share = std::partition_point(begin_share, plan_.shares.end(), in_loads(end));
  const auto count = static_cast<std::size_t>(end_share - begin_share);
  const auto scatter_one = [&](std::size_t i) {
    const Share& share = begin_share[static_cast<std::ptrdiff_t>(i)];
    scatter(plan_.of(share), memory[share.load - first]);
  };
  touched_ = true;
  if (plan_.bytes >= worth_a_worker) {
    pool_.run(count, std::ref(scatter_one));
  } else {
    for (std::size_t i = 0; i < count; ++i) scatter_one(i);
  }
}

void StagedDownload::release_slots() {
  for (Slot* slot : held_) slots_.give_back(slot);
  held_.clear();
}

}  // namespace blastoff::residency::staging
