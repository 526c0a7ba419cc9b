// Threads that share work.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace blastoff::platform {

/// Workers for copying, for checks that read much, and for the parts of a call. With 0 `workers`, the caller does
/// everything itself.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  virtual int workers() const = 0;

  /// Calls task(0) ... task(count - 1), each once, on the workers and the calling thread; returns when all have
  /// returned. Several threads may call run() at once. Tasks must not call it themselves. If a task throws, run()
  /// throws when all tasks that have begun have returned.
  virtual void run(std::size_t count, const std::function<void(std::size_t)>& task) = 0;

  /// The workers end when they have done what is asked of them. Later callers do everything themselves.
  virtual void end() = 0;
};
std::unique_ptr<WorkerPool> create_worker_pool(int workers, const char* name = "blastoff-copy");

/// Workers for a check that reads so many bytes; nullptr if the calling thread should read them alone.
std::unique_ptr<WorkerPool> workers_to_read(std::size_t bytes);
/// The same for a copy by at most so many threads, of which the calling one is the first.
std::unique_ptr<WorkerPool> workers_to_copy(std::size_t bytes, int threads);

}  // namespace blastoff::platform
