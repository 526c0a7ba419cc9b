// The program's memory that is page-locked for the devices. Results are written directly into it, and matrices that the
// CPU keeps rewriting are read directly from it: at link speed, and unseen by the kernel's write tracking.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/device.h"
#include "platform/interval_set.h"
#include "platform/recent_map.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// Thread-safe. Memory is page-locked for a process, and a driver does not lock it twice. So the devices of a process
/// share one of these: what one of them has locked, all copy into directly.
///
/// No lock is held while the driver locks or unlocks memory, or is asked. Pins often end under a lock of the caller's.
/// So the driver unlocks their memory only in unlock_ended(), which is to be called without that lock. Until then
/// nobody uses them, or has the same memory locked.
class Pins {
 public:
  struct Pin {
    platform::Span span;
    int holds = 0;                   ///< calls in flight that copy into it
    int uses = 0;                    ///< calls that have
    std::atomic<bool> gone = false;  ///< the memory was unmapped or dropped, or is to be locked no longer: the pin ends
                                     ///< with its last hold
    bool made = false;               ///< false: the driver is locking the memory, and nobody may rely on that yet
    std::size_t counted = 0;         ///< kilobytes of VmPin that it accounts for
    device::Device* owner = nullptr;                ///< whose driver locked it
    std::vector<const device::Device*> known_to{};  ///< that have held it
    Pin* next_ended = nullptr;                      ///< of those that the driver has still to unlock
  };

  /// `limit`: the most bytes of host memory to page-lock.
  explicit Pins(std::size_t limit) : limit_(limit) {}
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  /// Returns a pin that covers all of `span`, held until unhold(). Returns nullptr if the memory should be copied
  /// through staging, because pinning it does not pay yet, or must be, because of the limit or the driver, or because
  /// another thread is having it locked. While the driver locks memory, the caller's lock is given back. Pinning
  /// costs about as much as two copies, so it begins with the second request for the same memory, or later where
  /// forbid() has ended pins that were hardly used. It then covers the
  /// memory that was requested beside it, too, if that is much: threads that each ask for a slice of a matrix share one
  /// pin.
  /// `met`: whether the device holds this pin for the first time. Pinning touches the pages as a write does, and the
  /// tracking reports them to every device as written.
  /// `absent`: whether some of a span is absent from host memory. Such memory is not pinned: the driver would wait for
  /// its pages while it holds its locks.
  using Absent = std::function<bool(platform::Span)>;
  Pin* hold(
      device::Device& device, platform::Span span, bool& met, std::unique_lock<std::mutex>& callers,
      const Absent& absent = [](platform::Span) { return false; });
  void unhold(Pin* pin);

  /// Has the driver unlock the memory of the pins that have ended.
  void unlock_ended();
  /// Waits until that is so of pins that touch the span, whoever sees to it. The driver takes other memory at these
  /// addresses for what it has locked.
  void await_unlocked(platform::Span span);

  /// Ends all pins. Those of calls in flight end with these calls.
  void release();

  /// From here until allow() was called as often, nothing is pinned (device::Queue::copies_heap_memory). Waits for the
  /// calls in flight that hold pins. False: one of them took longer than a second or two, and nothing is forbidden.
  /// For threads that hold none.
  ///
  /// What was pinned and used a few times only has cost more than it gained. After that it takes more requests until
  /// memory is pinned.
  bool forbid();
  void allow();

  /// The device goes away: ends the pins that its driver made. No call may hold one of them.
  void release_of(device::Device& device);

  bool empty();

  /// Whether the program itself registered the memory at the span's beginning with the device.
  bool registered_by_program(device::Device& device, platform::Span span);

  /// Whether more of the process's memory is pinned than ours (VmPin). Waits while the driver locks or unlocks memory,
  /// if that is counted. (What NVIDIA's driver pins is not.)
  bool others_pin();

  /// Whether some of the span is pinned, or is being pinned or unlocked.
  bool touches(platform::Span span);

  /// From here on, nothing is pinned of which this is true: others copy from and to it. To be called once.
  void except(std::function<bool(platform::Span)> excepted);
  /// Ends the pins that touch memory which has become such, and waits for the calls in flight that hold them.
  void end_excepted(platform::Span span);

  /// The memory of the span was unmapped, moved or dropped: ends the pins that touch it.
  void forget(platform::Span span);

 private:
  using Map = std::map<std::uintptr_t, Pin>;
  /// Pins that follow each other in the map.
  struct Pinned {
    Map::iterator first;
    Map::iterator last;

    Map::iterator begin() const { return first; }
    Map::iterator end() const { return last; }
    bool empty() const { return first == last; }
  };
  Pin* create(device::Device& device, platform::Span span, std::unique_lock<std::mutex>& lock,
              std::unique_lock<std::mutex>& callers, const Absent& absent);
  std::optional<std::size_t> lock_pages(device::Device& device, platform::Span span);
  static void unlock_pages(const Pin& pin);
  std::unique_lock<std::mutex> take_turn();
  bool covered(platform::Span span);
  void learn();
  void release_all();
  void end(Pin& pin);
  void queue(Pin& pin);
  void unlock_ended(std::unique_lock<std::mutex>& lock);
  static bool meet(Pin& pin, const device::Device& device);
  Map::iterator first_reaching(std::uintptr_t address);
  /// The pins that have bytes of the span.
  Pinned touching(platform::Span span) { return {first_reaching(span.begin), pins_.lower_bound(span.end)}; }
  bool any_to_wait_for(platform::Span span);
  std::size_t bytes_touching(platform::Span span);

  struct Request {
    std::size_t bytes = 0;
    int times = 0;  ///< that so many were copied through staging
  };

  // If the driver's pins are counted in VmPin, one thread at a time has it lock or unlock memory, so that what this
  // adds can be told.
  std::mutex turn_mutex_;
  std::atomic<bool> never_counted_{false};  ///< a pin has added nothing
  std::mutex mutex_;
  std::condition_variable changed_;  // a pin was made or has ended
  int changing_ = 0;                 // for how many the driver is at work
  std::size_t changes_ = 0;          // pins that have begun or ended
  Pin* ended_ = nullptr;             // the first of those that the driver has still to unlock
  const std::size_t limit_;
  std::size_t pinned_ = 0;
  std::size_t refused_ = 0;  // bytes of requests for which too much would have had to be locked once more
  std::size_t counted_ = 0;
  int forbidden_ = 0;
  std::function<bool(platform::Span)> excepted_ = [](platform::Span) { return false; };
  int patience_ = 1;  // requests through staging before memory is pinned
  Map pins_;          // by begin; they do not overlap
  platform::RecentMap<std::uintptr_t, Request> requested_{platform::max_matrices_remembered};  // by begin
  platform::IntervalSet extents_;                                                              // of what was requested
};

/// Forbids pins until it is destroyed.
class WithoutPins {
 public:
  /// nullopt: calls in flight hold pins, and do not end.
  static std::optional<WithoutPins> begin(std::shared_ptr<Pins> pins) {
    if (!pins->forbid()) return std::nullopt;
    return WithoutPins(std::move(pins));
  }
  ~WithoutPins() {
    if (pins_) pins_->allow();
  }
  WithoutPins(WithoutPins&&) noexcept = default;
  WithoutPins(const WithoutPins&) = delete;
  WithoutPins& operator=(const WithoutPins&) = delete;
  WithoutPins& operator=(WithoutPins&&) = delete;

 private:
  explicit WithoutPins(std::shared_ptr<Pins> pins) : pins_(std::move(pins)) {}

  std::shared_ptr<Pins> pins_;
};

}  // namespace blastoff::residency::mirror
