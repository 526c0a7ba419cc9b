// A device as a place of blocks: its memory, the queues of their copies, and which blocks are there.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "blocks/options.h"
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

/// The queues that carry the copies of a device. Copies in one direction take the queues of that direction in turn.
/// What must come in order waits for points of the other queues. Thread-safe.
class CopyQueues {
 public:
  explicit CopyQueues(device::Device& device);

  /// From 1 to max_streams. With one, copies in both directions use it; otherwise each direction has half of them.
  void set_count(int count) { count_.store(count, std::memory_order_relaxed); }
  SharedQueue& to_device();
  SharedQueue& from_device();
  /// Waits for all of them.
  device::Status synchronize();

 private:
  std::array<std::unique_ptr<SharedQueue>, max_streams> queues_;
  std::atomic<int> count_{usual_streams};
  std::atomic<unsigned> turns_to_device_{0};
  std::atomic<unsigned> turns_from_device_{0};
};

/// Thread-safe.
class Site {
 public:
  explicit Site(device::Device& device);

  device::Device& device() { return device_; }
  device::MemoryPool& pool() { return pool_; }
  device::PointSource& points() { return points_; }
  CopyQueues& copies() { return copies_; }
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
  CopyQueues copies_;
  SharedQueue compute_;
  std::mutex mutex_;
  std::list<Block*> blocks_;
};

}  // namespace blastoff::blocks
