// A pool of queues: each call borrows three.
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

/// Thread-safe. Keeps the queues that it creates, for up to `most` calls at a time; further calls wait. Three queues
/// with their library handles and work space cost some hundredths of a second, and the driver creates one at a time. So
/// the pool creates others when calls have waited, together, for as long as creating them takes, and when the latest
/// ones are surely in use. A thread gets the queues that it used last, if they are free, because their cuBLAS handle
/// and workspace are warm. Must outlive its leases; the device must outlive it.
class QueuePool {
 public:
  QueuePool(Device& device, std::size_t most) : device_(device), max_(most) {}

  /// The queues of one call, given back on destruction. Its queues must be idle by then, or hold
  /// only work whose order relative to the next call's work does not matter.
  class Lease {
   public:
    Lease(QueuePool& pool, std::unique_ptr<CallQueues> queues, bool at_once)
        : pool_(&pool), queues_(std::move(queues)), at_once_(at_once) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (queues_) pool_->give_back(std::move(queues_));
    }

    CallQueues& operator*() const { return *queues_; }
    CallQueues* operator->() const { return queues_.get(); }

    /// The call has not waited for its queues, and they are not new. So the call's time is typical.
    bool at_once() const { return at_once_; }

   private:
    QueuePool* pool_;
    std::unique_ptr<CallQueues> queues_;
    bool at_once_;
  };

  Result<Lease> acquire();

 private:
  struct Idle {
    std::thread::id last_user;
    std::unique_ptr<CallQueues> queues;
  };

  void give_back(std::unique_ptr<CallQueues> queues);
  Result<Lease> create(std::unique_lock<std::mutex>& lock);
  std::unique_ptr<CallQueues> take_idle();

  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::duration<double> price{0.02};

  Device& device_;
  const std::size_t max_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::size_t created_ = 0;
  Clock::time_point latest_{};               // creation of the latest set of queues
  std::chrono::duration<double> waited_{0};  // waiting of all calls since then
  std::vector<Idle> idle_;
};

}  // namespace blastoff::device
