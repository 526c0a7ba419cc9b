// One download, from the device's copies into slots to the host's memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "platform/threads.h"
#include "residency/staging/plan.h"
#include "residency/staging/slots.h"

namespace blastoff::residency::staging {

class StagedDownload : public Staging::Download, private Completable {
 public:
  /// Queues the copies. What needs more slots than one download may hold is brought home here, slot by slot.
  static device::Result<std::unique_ptr<Staging::Download>> start(Slots& slots, platform::WorkerPool& pool, Plan plan,
                                                                  device::Queue& queue);
  ~StagedDownload() override;
  device::Status finish() override;
  bool host_touched() const override { return touched_; }

 private:
  StagedDownload(Slots& slots, platform::WorkerPool& pool, Plan plan)
      : slots_(slots), pool_(pool), plan_(std::move(plan)) {}

  device::Status queue_all(device::Queue& queue);
  void bring_home_in_turns(device::Queue& queue, std::size_t most);
  void complete() override;
  void complete_with(std::size_t threads);
  void scatter_loads(std::span<const Load> loads, std::span<Slot* const> from, std::size_t threads);
  void release_slots();
  std::size_t helpful_threads() const;

  Slots& slots_;
  platform::WorkerPool& pool_;
  const Plan plan_;
  std::vector<Slot*> held_;
  device::Status status_;
  bool touched_ = false;
};

}  // namespace blastoff::residency::staging
