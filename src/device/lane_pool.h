// A pool of lanes: each call borrows three queues.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.h"

namespace blastoff::device {

/// Thread-safe. Keeps the lanes that it creates, up to `most`; further calls wait for one. A lane with its library
/// handles and work space costs some hundredths of a second, and the driver creates one at a time. So the pool creates
/// another lane when calls have waited, together, for as long as a lane costs, and when the latest lane is surely in
/// use. A thread gets the lane that it used last, if that is free, because its cuBLAS handle and workspace are warm.
/// Must outlive its leases; the device must outlive it.
class LanePool {
 public:
  LanePool(Device& device, std::size_t most) : device_(device), max_(most) {}

  /// A lane for the duration of one call, given back on destruction. Its queues must be idle by then, or hold only work
  /// whose order relative to the next call's work does not matter.
  class Lease {
   public:
    Lease(LanePool& pool, std::unique_ptr<Lane> lane, bool at_once)
        : pool_(&pool), lane_(std::move(lane)), at_once_(at_once) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (lane_) pool_->give_back(std::move(lane_));
    }

    Lane& operator*() const { return *lane_; }
    Lane* operator->() const { return lane_.get(); }

    /// The call has not waited for the lane, and the lane is not new. So the call's time is typical.
    bool at_once() const { return at_once_; }

   private:
    LanePool* pool_;
    std::unique_ptr<Lane> lane_;
    bool at_once_;
  };

  Result<Lease> acquire();

 private:
  struct Idle {
    std::thread::id last_user;
    std::unique_ptr<Lane> lane;
  };

  void give_back(std::unique_ptr<Lane> lane);
  Result<Lease> create(std::unique_lock<std::mutex>& lock);
  std::unique_ptr<Lane> take_idle();

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::duration<double> price{0.02};

  Device& device_;
  const std::size_t max_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::size_t created_ = 0;
  Clock::time_point latest_{};               // creation of the latest lane
  std::chrono::duration<double> waited_{0};  // waiting of all calls since then
  std::vector<Idle> idle_;
};

}  // namespace blastoff::device
