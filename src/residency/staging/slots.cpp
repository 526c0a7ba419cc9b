#include "residency/staging/slots.h"

#include <algorithm>
#include <new>

#include "platform/contained.h"
#include "residency/staging/plan.h"

namespace blastoff::residency::staging {

device::Result<std::unique_ptr<Slots>> Slots::create(device::Device& device, std::size_t bytes, std::size_t count) {
  std::unique_ptr<Slots> slots(new Slots(device, bytes));
  slots->slots_.resize(count);
  // Nothing that gives a slot back or gets one memory may need room here.
  slots->free_.reserve(count);
  slots->empty_.reserve(count);
  slots->pieces_.reserve(count);
  slots->kept_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Slot& slot = slots->slots_[i];
    auto event = device.create_event();
    if (!event) return tl::unexpected(event.error());
    slot.event = std::move(*event);
    slots->empty_.push_back(&slot);
  }
  // The first transfer needs one. Without it there is no staging.
  auto memory = device.allocate_staging(bytes);
  if (!memory) return tl::unexpected(memory.error());
  slots->pieces_.push_back({*memory, bytes});
  Slot* const first = slots->empty_.back();
  slots->empty_.pop_back();
  first->memory = static_cast<std::byte*>(*memory);
  first->page_locked = true;
  slots->free_.push_back(first);
  slots->plain_.reset(new (std::nothrow) std::byte[bytes * count]);
  if (!slots->plain_) return tl::unexpected(device::Error{device::ErrorKind::no_host_memory, "no memory for staging"});
  return slots;
}

Slots::~Slots() {
  for (Slot* slot : in_flight_) (void)slot->event->synchronize();
  for (const Piece& piece : pieces_) device_.free_staging(piece.page_locked, piece.bytes);
}

/// One more slot, with memory; others get theirs with it. Where the driver refuses page-locked memory, it is plain:
/// copies between the device and plain memory are slow, and as correct.
Slot* Slots::grow(std::unique_lock<std::mutex>& lock) {
  constexpr std::size_t max_at_once = 8;
  std::size_t count = std::min({slots_.size() - empty_.size(), empty_.size(), max_at_once});
  growing_ = true;
  lock.unlock();
  void* memory = nullptr;
  for (;; count /= 2) {
    platform::contained([&] { memory = device_.allocate_staging(count * bytes_).value_or(nullptr); });
    if (memory || count == 1) break;
  }
  lock.lock();
  growing_ = false;
  if (memory) pieces_.push_back({memory, count * bytes_});
  for (std::size_t i = 0; i < count; ++i) {
    Slot* const slot = empty_.back();
    empty_.pop_back();
    std::byte* const plain = plain_.get() + static_cast<std::size_t>(slot - slots_.data()) * bytes_;
    slot->memory = memory ? static_cast<std::byte*>(memory) + i * bytes_ : plain;
    slot->page_locked = memory != nullptr;
    free_.push_back(slot);
  }
  Slot* const grown = free_.back();
  free_.pop_back();
  changed_.notify_all();
  return grown;
}

/// One slot, or nullptr if getting one needs waiting for other threads. The lock is held before and after. An event
/// that reports an error also frees its slot, because the copy will not run any more.
Slot* Slots::next(std::unique_lock<std::mutex>& lock, std::size_t in_flight) {
  if (in_flight_.size() < in_flight) {
    if (!free_.empty()) {
      Slot* const slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (!empty_.empty() && !growing_) return grow(lock);
  }
  if (in_flight_.empty()) return nullptr;
  Slot* const slot = in_flight_.front();
  in_flight_.pop_front();
  lock.unlock();
  (void)slot->event->synchronize();
  lock.lock();
  return slot;
}

std::vector<Slot*> Slots::take(std::size_t count) {
  std::vector<Slot*> taken;
  taken.reserve(count);
  std::unique_lock lock(mutex_);
  if (next_ticket_ != serving_ || free_.size() + empty_.size() + in_flight_.size() < count) complete_own(lock);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return serving_ == ticket; });
  while (taken.size() < count) {
    if (Slot* slot = next(lock, few_in_flight)) {
      taken.push_back(slot);
    } else {
      changed_.wait(lock);
    }
  }
  ++serving_;
  changed_.notify_all();
  return taken;
}

/// What this thread holds: other threads may be waiting for it while this one waits for them.
void Slots::complete_own(std::unique_lock<std::mutex>& lock) {
  const auto self = std::this_thread::get_id();
  for (;;) {
    const auto own = std::find_if(kept_.begin(), kept_.end(), [&](const Keeping& k) { return k.owner == self; });
    if (own == kept_.end()) return;
    Completable* holder = own->holder;
    kept_.erase(own);
    lock.unlock();
    holder->complete();
    lock.lock();
  }
}

Slot* Slots::take_one(std::size_t in_flight) {
  if (Slot* slot = try_take(in_flight)) return slot;
  return take(1).front();
}

Slot* Slots::try_take(std::size_t in_flight) {
  std::unique_lock lock(mutex_);
  return next_ticket_ == serving_ ? next(lock, in_flight) : nullptr;
}

void Slots::give_back(Slot* slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
  changed_.notify_all();
}

void Slots::give_back_after_event(Slot* slot) {
  const std::lock_guard lock(mutex_);
  if (!platform::contained([&] { in_flight_.push_back(slot); })) {
    (void)slot->event->synchronize();
    free_.push_back(slot);
  }
  changed_.notify_all();
}

void Slots::remember(Completable& holder) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({std::this_thread::get_id(), &holder});
}

bool Slots::forget(Completable& holder) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(kept_, [&](const Keeping& k) { return k.holder == &holder; }) > 0;
}

}  // namespace blastoff::residency::staging
