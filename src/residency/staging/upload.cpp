#include "residency/staging/upload.h"

#include <algorithm>
#include <thread>

#include "platform/contained.h"

namespace blastoff::residency::staging {

device::Status Upload::run(platform::WorkerPool& pool) {
  constexpr std::size_t worth_a_worker = std::size_t{1} << 20;
  if (plan_.loads.size() > 1 && pool.workers() > 0 && plan_.bytes >= worth_a_worker) {
    const auto caller = std::this_thread::get_id();
    const std::size_t threads = std::min(plan_.loads.size(), static_cast<std::size_t>(pool.workers()) + 1);
    pool.run(threads,
             [&](std::size_t) { work(std::this_thread::get_id() == caller ? WithoutSlot::wait : WithoutSlot::leave); });
  }
  work(WithoutSlot::wait);
  return status_;
}

void Upload::work(WithoutSlot without_slot) {
  while (next_ < plan_.loads.size() && !failed_) {
    Slot* slot = without_slot == WithoutSlot::wait ? slots_.take_one(in_flight_) : slots_.try_take(in_flight_);
    if (slot == nullptr) return;
    const std::size_t index = next_++;
    if (index >= plan_.loads.size()) {
      slots_.give_back(slot);
      return;
    }
    send(plan_.loads[index], slot);
  }
}

void Upload::send(const Load& load, Slot* slot) {
  const auto pieces = plan_.of(load);
  gather(pieces, slot->memory);
  {
    const std::lock_guard lock(queue_mutex_);
    device::Status queued = tl::unexpected(device::no_host_memory());
    platform::contained([&] { queued = queue_copies(pieces, *slot); });
    if (queued) {
      slots_.give_back_after_event(slot);
      return;
    }
    // A part of the load may be in transfer.
    (void)queue_.synchronize();
    if (status_) status_ = std::move(queued);
  }
  failed_ = true;
  slots_.give_back(slot);
}

device::Status Upload::queue_copies(std::span<const Piece> pieces, Slot& slot) {
  std::vector<device::Run> runs;
  auto queued = for_each_copy(pieces, [&](const SlotCopy& copy) -> device::Status {
    const std::byte* const source = slot.memory + copy.slot_offset;
    if (copy.block.columns > 1 || !slot.page_locked) return queue_.copy_to_device(copy.device, source, copy.block);
    runs.push_back({copy.device, source, copy.block.column_bytes});
    return {};
  });
  return queued.and_then([&] { return queue_.copy_runs_to_device(runs); }).and_then([&] {
    return queue_.record(*slot.event);
  });
}

}  // namespace blastoff::residency::staging
