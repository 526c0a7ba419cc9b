#include "platform/worker_pool.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>

#include "platform/contained.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"

namespace blastoff::platform {
namespace {

/// One call of run(). Its indices are handed out one by one. It lies on the caller's stack; the caller waits until no
/// worker uses it.
struct Batch {
  const std::function<void(std::size_t)>* task;
  std::size_t count;
  std::size_t next = 0;
  std::size_t finished = 0;
  bool failed = false;  ///< a task has thrown
};

/// The state that the workers and the pool share. It lives until the last worker has left.
struct Shared {
  std::mutex mutex;
  std::condition_variable work;      ///< there is something to do, or the end has come
  std::condition_variable progress;  ///< a batch has finished, a worker has left
  std::deque<Batch*> batches;        ///< batches that have indices left
  int running = 0;
  bool ending = false;
};

/// Takes and runs one index of `batch`. The lock is held before and after. Returns false if no index is left.
bool run_one(Shared& shared, std::unique_lock<std::mutex>& lock, Batch& batch) {
  if (batch.next == batch.count) return false;
  const std::size_t index = batch.next++;
  if (batch.next == batch.count) std::erase(shared.batches, &batch);
  lock.unlock();
  const bool ended = contained([&] { (*batch.task)(index); });
  lock.lock();
  if (!ended) batch.failed = true;
  if (++batch.finished == batch.count) shared.progress.notify_all();
  return true;
}

void work(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.work.wait(lock, [&] { return shared.ending || !shared.batches.empty(); });
    if (shared.batches.empty()) break;
    run_one(shared, lock, *shared.batches.front());
  }
  announce_end();
  --shared.running;
  shared.progress.notify_all();
}

class Pool : public WorkerPool {
 public:
  Pool(int workers, const char* name) {
    for (int i = 0; i < workers; ++i) {
      {
        const std::lock_guard lock(shared_->mutex);
        ++shared_->running;
      }
      if (start_thread(name, [shared = shared_] { work(*shared); })) {
        ++workers_;
      } else {
        const std::lock_guard lock(shared_->mutex);
        --shared_->running;
      }
    }
  }

  ~Pool() override { Pool::end(); }

  void end() override {
    std::unique_lock lock(shared_->mutex);
    shared_->ending = true;
    shared_->work.notify_all();
    shared_->progress.wait(lock, [&] { return shared_->running == 0; });
  }

  int workers() const override { return workers_; }

  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    if (count <= 1 || workers_ == 0) {
      for (std::size_t i = 0; i < count; ++i) task(i);
      return;
    }
    Batch batch{&task, count};
    std::unique_lock lock(shared_->mutex);
    if (!contained([&] { shared_->batches.push_back(&batch); })) {
      // Without memory to tell the workers, the caller does everything itself.
    } else if (count > 2) {
      shared_->work.notify_all();
    } else {
      shared_->work.notify_one();
    }
    while (run_one(*shared_, lock, batch)) {
    }
    shared_->progress.wait(lock, [&] { return batch.finished == batch.count; });
    if (batch.failed) throw std::bad_alloc();
  }

 private:
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  int workers_ = 0;
};

}  // namespace

std::unique_ptr<WorkerPool> create_worker_pool(int workers, const char* name) {
  return std::make_unique<Pool>(std::max(workers, 0), name);
}

std::unique_ptr<WorkerPool> workers_to_read(std::size_t bytes) {
  return workers_to_copy(bytes, cpu_count());
}

std::unique_ptr<WorkerPool> workers_to_copy(std::size_t bytes, int threads) {
  // One thread reads matrices at some 5 GB/s, a node at ten times that rate.
  constexpr std::size_t bytes_per_thread = std::size_t{4} << 20;
  constexpr std::size_t max_threads = 8;
  threads = std::min(static_cast<int>(std::min(max_threads, bytes / bytes_per_thread)), threads);
  return threads > 1 ? create_worker_pool(threads - 1) : nullptr;
}

}  // namespace blastoff::platform
