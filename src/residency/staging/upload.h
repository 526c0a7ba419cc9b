// One upload, shared by the threads that work on it.
#pragma once

#include <atomic>
#include <mutex>

#include "platform/worker_pool.h"
#include "residency/staging/plan.h"
#include "residency/staging/slots.h"

namespace blastoff::residency::staging {

/// Each thread takes a slot, fills it with the next load, and queues its copy. Queueing is done under a lock, because
/// the queue serves one thread at a time. It takes microseconds, while filling takes hundreds, so loads enter the queue
/// when they are ready.
class Upload {
 public:
  Upload(Slots& slots, const Plan& plan, device::Queue& queue)
      : slots_(slots), plan_(plan), in_flight_(loads_in_flight(plan)), queue_(queue) {}

  /// Uses as many of the pool's workers as there is work for.
  device::Status run(platform::WorkerPool& pool);

 private:
  /// Workers stop if no slot is free at once, because the threads that hold slots may be waiting for a worker.
  enum class WithoutSlot : bool { wait, leave };

  void work(WithoutSlot without_slot);
  void send(const Load& load, Slot* slot);
  device::Status queue_copies(std::span<const Piece> pieces, Slot& slot);

  Slots& slots_;
  const Plan& plan_;
  const std::size_t in_flight_;  ///< loads
  device::Queue& queue_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex queue_mutex_;
  device::Status status_;  ///< the first error
};

}  // namespace blastoff::residency::staging
