#include "residency/staging/staged_download.h"

#include <algorithm>
#include <array>
#include <utility>

namespace blastoff::residency::staging {
namespace {

device::Status queue_copies(std::span<const Piece> pieces, Slot& slot, device::Queue& queue) {
  for (const Piece& piece : pieces) {
    auto queued = queue.copy_to_host(slot.memory + piece.slot_offset, piece.device, slot_block(piece));
    if (!queued) return queued;
  }
  return {};
}

/// Loads into slots, one each; the last slot's event tells of all.
device::Status queue_loads(const Plan& plan, std::span<const Load> loads, std::span<Slot* const> into,
                           device::Queue& queue) {
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (auto queued = queue_copies(plan.of(loads[i]), *into[i], queue); !queued) return queued;
  }
  return queue.record(*into[loads.size() - 1]->event);
}

}  // namespace

device::Result<std::unique_ptr<Staging::Download>> StagedDownload::start(Slots& slots, platform::WorkerPool& pool,
                                                                         Plan plan, device::Queue& queue) {
  const std::size_t most = std::max<std::size_t>(1, slots.count() / 2);  // uploads and other calls need some too
  std::unique_ptr<StagedDownload> download(new StagedDownload(slots, pool, std::move(plan)));
  if (download->plan_.loads.empty()) return download;
  if (download->plan_.loads.size() > most) {
    download->bring_home_in_turns(queue, most);
    if (!download->status_ && !download->touched_) return tl::unexpected(download->status_.error());
    return download;
  }
  if (auto queued = download->queue_all(queue); !queued) return tl::unexpected(queued.error());
  return download;
}

device::Status StagedDownload::queue_all(device::Queue& queue) {
  held_ = slots_.take(plan_.loads.size());
  auto queued = queue_loads(plan_, plan_.loads, held_, queue);
  if (!queued) {
    (void)queue.synchronize();
    release_slots();
    return queued;
  }
  slots_.remember(*this);
  return {};
}

/// Two groups of slots take turns: one is filled by the device while the other is emptied into host memory.
void StagedDownload::bring_home_in_turns(device::Queue& queue, std::size_t most) {
  held_ = slots_.take(most);
  const std::span<Slot* const> held(held_);
  const std::size_t half = (most + 1) / 2;
  const std::array groups = {held.first(half), most > 1 ? held.subspan(half) : held.first(half)};
  const std::span<const Load> loads(plan_.loads);

  struct Turn {
    std::span<const Load> loads;
    std::span<Slot* const> slots;
  };
  std::vector<Turn> turns;
  for (std::size_t at = 0; at < loads.size();) {
    const auto& group = groups[turns.size() % 2];
    const std::size_t count = std::min(group.size(), loads.size() - at);
    turns.push_back({loads.subspan(at, count), group});
    at += count;
  }

  const std::size_t ahead = most > 1 ? 2 : 1;
  std::size_t queued = 0;
  for (std::size_t turn = 0; turn < turns.size() && status_; ++turn) {
    for (; queued < std::min(turn + ahead, turns.size()) && status_; ++queued) {
      status_ = queue_loads(plan_, turns[queued].loads, turns[queued].slots, queue);
    }
    if (status_) status_ = turns[turn].slots[turns[turn].loads.size() - 1]->event->synchronize();
    if (status_) scatter_loads(turns[turn].loads, turns[turn].slots, helpful_threads());
  }
  if (!status_) (void)queue.synchronize();
  release_slots();
}

void StagedDownload::complete() {
  // The owner needs its slots back, maybe within a task of the pool, which must not wait for other tasks.
  complete_with(1);
}

void StagedDownload::complete_with(std::size_t threads) {
  status_ = held_[plan_.loads.size() - 1]->event->synchronize();
  if (status_) scatter_loads(plan_.loads, held_, threads);
  release_slots();
}

std::size_t StagedDownload::helpful_threads() const {
  constexpr std::size_t worth_a_worker = std::size_t{1} << 20;
  return plan_.bytes < worth_a_worker ? 1 : static_cast<std::size_t>(pool_.workers()) + 1;
}

void StagedDownload::scatter_loads(std::span<const Load> loads, std::span<Slot* const> from, std::size_t threads) {
  touched_ = true;
  const auto scatter_one = [&](std::size_t i) { scatter(plan_.of(loads[i]), from[i]->memory); };
  if (threads > 1 && loads.size() > 1) {
    pool_.run(loads.size(), scatter_one);
  } else {
    for (std::size_t i = 0; i < loads.size(); ++i) scatter_one(i);
  }
}

void StagedDownload::release_slots() {
  for (Slot* slot : held_) slots_.give_back(slot);
  held_.clear();
}

device::Status StagedDownload::finish() {
  if (slots_.forget(*this)) complete_with(helpful_threads());
  return status_;
}

StagedDownload::~StagedDownload() {
  if (!slots_.forget(*this)) return;
  (void)held_[plan_.loads.size() - 1]->event->synchronize();
  release_slots();
}

}  // namespace blastoff::residency::staging
