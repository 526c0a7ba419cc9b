// The page-locked slots that all transfers share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.h"

namespace blastoff::residency::staging {

/// A piece of page-locked memory, and the event that says when the device is done with it.
struct Slot {
  std::byte* memory = nullptr;  ///< nullptr until there is need for it
  bool page_locked = false;     ///< that memory is; else it is plain
  std::unique_ptr<device::Event> event;
};

/// Something that holds slots between two calls of its owning thread.
class Completable {
 public:
  /// Gives the slots back. Waits for the device only, never for a slot.
  virtual void complete() = 0;

 protected:
  ~Completable() = default;
};

/// No starvation and no deadlock. A thread that has to wait first completes what it holds itself. Then it joins one
/// line, of which only the head takes slots. All other slots are free, in transfer, held by a thread that is copying
/// and waits for no slot, or held by a thread that does not wait yet.
///
/// Page-locking takes long, so slots get their memory when they are first needed: each time as many as have some
/// already, up to eight, because one large piece takes less time than several small ones.
class Slots {
 public:
  static device::Result<std::unique_ptr<Slots>> create(device::Device& device, std::size_t bytes, std::size_t count);
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  std::size_t slot_bytes() const { return bytes_; }
  std::size_t count() const { return slots_.size(); }

  /// Waits until the caller has `count` slots (at most all of them). The caller must hold none.
  std::vector<Slot*> take(std::size_t count);
  /// With `in_flight` slots in transfer, the oldest of them.
  Slot* take_one(std::size_t in_flight);

  /// One slot if the only wait is for the device; else nullptr.
  Slot* try_take(std::size_t in_flight);

  /// Returns the slot. It is free at once, or as soon as its event has completed.
  void give_back(Slot* slot);
  void give_back_after_event(Slot* slot);

  /// Registers `holder`, which keeps slots that the calling thread may need back before it calls forget().
  void remember(Completable& holder);
  /// False: it was completed meanwhile.
  bool forget(Completable& holder);

 private:
  Slots(device::Device& device, std::size_t bytes) : device_(device), bytes_(bytes) {}

  struct Piece {
    void* page_locked;
    std::size_t bytes;
  };

  struct Keeping {
    std::thread::id owner;
    Completable* holder;
  };

  Slot* next(std::unique_lock<std::mutex>& lock, std::size_t in_flight);
  void complete_own(std::unique_lock<std::mutex>& lock);
  Slot* grow(std::unique_lock<std::mutex>& lock);

  device::Device& device_;
  const std::size_t bytes_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> plain_;  ///< as much memory as all slots have; only what is used takes any
  std::vector<Piece> pieces_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot*> free_;
  std::vector<Slot*> empty_;  ///< those without memory
  bool growing_ = false;
  std::deque<Slot*> in_flight_;  ///< oldest first
  std::vector<Keeping> kept_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace blastoff::residency::staging
