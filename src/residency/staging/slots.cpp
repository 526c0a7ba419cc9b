#include "residency/staging/slots.h"

#include <algorithm>
#include <new>

namespace blastoff::residency::staging {

device::Result<std::unique_ptr<Slots>> Slots::create(device::Device& device, std::size_t bytes, std::size_t count) {
  std::unique_ptr<Slots> slots(new Slots(device, bytes));
  slots->slots_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Slot& slot = slots->slots_[i];
    auto event = device.create_event();
    if (!event) return tl::unexpected(event.error());
    slot.event = std::move(*event);
    slots->free_.push_back(&slot);
  }
  // The first transfer needs one. Without it there is no staging.
  Slot& first = *slots->free_.back();
  auto memory = device.allocate_staging(bytes);
  if (!memory) return tl::unexpected(memory.error());
  first.page_locked = *memory;
  first.memory = static_cast<std::byte*>(*memory);
  slots->plain_.reset(new (std::nothrow) std::byte[bytes * count]);
  if (!slots->plain_) return tl::unexpected(device::Error{device::ErrorKind::out_of_memory, "no memory for staging"});
  return slots;
}

/// Copies between the device and plain memory are slow, and as correct.
void Slots::allocate(Slot& slot) {
  slot.page_locked = device_.allocate_staging(bytes_).value_or(nullptr);
  const auto number = static_cast<std::size_t>(&slot - slots_.data());
  slot.memory = slot.page_locked ? static_cast<std::byte*>(slot.page_locked) : plain_.get() + number * bytes_;
}

Slots::~Slots() {
  for (Slot* slot : in_flight_) (void)slot->event->synchronize();
  for (const Slot& slot : slots_)
    if (slot.page_locked) device_.free_staging(slot.page_locked, bytes_);
}

/// One slot, or nullptr if getting one needs waiting for other threads. The lock is held before and after. An event
/// that reports an error also frees its slot, because the copy will not run any more.
Slot* Slots::next(std::unique_lock<std::mutex>& lock) {
  // With this many slots in transfer, the oldest is free or nearly so. It is still in the CPU's cache, where filling it
  // again is faster.
  constexpr std::size_t enough_in_flight = 8;
  const bool reuse = in_flight_.size() >= enough_in_flight || free_.empty();
  if (reuse && in_flight_.empty()) return nullptr;
  Slot* slot = reuse ? in_flight_.front() : free_.back();
  if (reuse) {
    in_flight_.pop_front();
    lock.unlock();
    (void)slot->event->synchronize();
    lock.lock();
  } else {
    free_.pop_back();
    if (slot->memory) return slot;
    lock.unlock();
    allocate(*slot);
    lock.lock();
  }
  return slot;
}

std::vector<Slot*> Slots::take(std::size_t count) {
  std::vector<Slot*> taken;
  taken.reserve(count);
  std::unique_lock lock(mutex_);
  if (next_ticket_ != serving_ || free_.size() + in_flight_.size() < count) complete_own(lock);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return serving_ == ticket; });
  while (taken.size() < count) {
    if (Slot* slot = next(lock)) {
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

Slot* Slots::take_one() {
  if (Slot* slot = try_take()) return slot;
  return take(1).front();
}

Slot* Slots::try_take() {
  std::unique_lock lock(mutex_);
  return next_ticket_ == serving_ ? next(lock) : nullptr;
}

void Slots::give_back(Slot* slot) {
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
  changed_.notify_all();
}

void Slots::give_back_after_event(Slot* slot) {
  const std::lock_guard lock(mutex_);
  in_flight_.push_back(slot);
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
