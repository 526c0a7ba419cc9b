// Lanes for calling threads: each call borrows three queues.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "device/device.h"

namespace blastoff::device {

/// Thread-safe. Creates as many lanes as calls run at once, up to `most`, and keeps them; further calls wait for one. A
/// thread gets the lane that it used last, if that is free, because its cuBLAS handle and workspace are warm. Must
/// outlive its leases; the device must outlive it.
class LanePool {
 public:
  LanePool(Device& device, std::size_t most) : device_(device), most_(most) {}

  /// A lane for the duration of one call, given back on destruction. Its queues must be idle by then, or hold only work
  /// whose order relative to the next call's work does not matter.
  class Lease {
   public:
    Lease(LanePool& pool, std::unique_ptr<Lane> lane) : pool_(&pool), lane_(std::move(lane)) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (lane_) pool_->give_back(std::move(lane_));
    }

    Lane& operator*() const { return *lane_; }
    Lane* operator->() const { return lane_.get(); }

   private:
    LanePool* pool_;
    std::unique_ptr<Lane> lane_;
  };

  Result<Lease> acquire();

 private:
  struct Idle {
    std::thread::id last_user;
    std::unique_ptr<Lane> lane;
  };

  void give_back(std::unique_ptr<Lane> lane);

  Device& device_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::size_t created_ = 0;
  std::vector<Idle> idle_;
};

}  // namespace blastoff::device
