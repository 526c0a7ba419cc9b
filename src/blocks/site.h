// A device as a place of blocks: its memory, the queues of their copies, and which blocks are there.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "device/memory_pool.h"

namespace blastoff::blocks {

class Block;
using device::Point;

/// A queue that is made by its first use.
class SharedQueue {
 public:
  explicit SharedQueue(device::Device& device) : device_(device) {}

  /// Runs work(Queue&), which returns a Status. If it fails, what it has queued has run when this returns.
  template <class Work>
  device::Status run(Work&& work) {
    const std::lock_guard lock(mutex_);
    if (!queue_) {
      auto created = device_.create_queue();
      if (!created) return tl::unexpected(std::move(created.error()));
      queue_ = std::move(*created);
    }
    auto done = std::forward<Work>(work)(*queue_);
    if (!done) (void)queue_->synchronize();
    return done;
  }

  device::Status synchronize() {
    const std::lock_guard lock(mutex_);
    return queue_ ? queue_->synchronize() : device::Status{};
  }

 private:
  device::Device& device_;
  std::mutex mutex_;
  std::unique_ptr<device::Queue> queue_;
};

/// Thread-safe.
class Site {
 public:
  explicit Site(device::Device& device);

  device::Device& device() { return device_; }
  device::MemoryPool& pool() { return pool_; }
  device::PointSource& points() { return points_; }
  SharedQueue& upload() { return upload_; }
  SharedQueue& download() { return download_; }
  SharedQueue& compute() { return compute_; }

  /// What was there alone is lost.
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  /// Notes whether an error has lost the device.
  void note(const device::Error& error) {
    if (error.kind == device::ErrorKind::lost) lost_.store(true, std::memory_order_release);
  }

  /// The blocks that have memory here, the one that was used longest ago first. An entry belongs to its block, and is
  /// changed under the block's own lock.
  using Entry = std::list<Block*>::iterator;
  Entry enter(Block& block);
  void touch(Entry entry);
  void leave(Entry entry);

  /// Calls visit(Block&) from the oldest on, until it returns true. No block ends meanwhile; the locks of blocks may
  /// only be tried.
  template <class Visit>
  void visit_oldest(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    for (Block* const block : blocks_)
      if (visit(*block)) return;
  }

 private:
  device::Device& device_;
  std::atomic<bool> lost_{false};
  device::PointSource points_;
  device::MemoryPool pool_;
  SharedQueue upload_;
  SharedQueue download_;
  SharedQueue compute_;
  std::mutex mutex_;
  std::list<Block*> blocks_;
};

}  // namespace blastoff::blocks
