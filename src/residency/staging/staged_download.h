// One download, from the device's copies into slots to the host's memory.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "platform/worker_pool.h"
#include "residency/staging/plan.h"
#include "residency/staging/slots.h"

namespace blastoff::residency::staging {

class StagedDownload : public Staging::Download, private Completable {
 public:
  /// Queues the copies. A download that needs more slots than one download may hold is written to the host here, some
  /// slots at a time.
  static device::Result<std::unique_ptr<Staging::Download>> start(Slots& slots, platform::WorkerPool& pool, Plan plan,
                                                                  device::Queue& queue);
  ~StagedDownload() override;
  device::Status finish() override;
  bool host_touched() const override { return touched_; }

 private:
  /// Loads [first, end) of the plan, and the slots that they are in.
  struct Turn {
    std::size_t first = 0;
    std::size_t end = 0;
    std::span<Slot* const> slots;
  };

  StagedDownload(Slots& slots, platform::WorkerPool& pool, Plan plan)
      : slots_(slots), pool_(pool), plan_(std::move(plan)) {}

  device::Status queue_turn(const Turn& turn, device::Queue& queue);
  device::Status queue_all(device::Queue& queue);
  device::Status bring_home_in_turns(device::Queue& queue, std::size_t most);
  device::Status bring_turns_home(device::Queue& queue, std::size_t most);
  std::vector<Turn> take_turns() const;
  void complete() override;
  void scatter_turn(const Turn& turn);
  void scatter_loads(std::size_t first, std::size_t end, std::span<const std::byte* const> memory);
  void release_slots();

  Slots& slots_;
  platform::WorkerPool& pool_;
  const Plan plan_;
  std::vector<Slot*> held_;
  std::vector<const std::byte*> in_slots_;  ///< has room for all of them
  std::unique_ptr<std::byte[]> spilled_;    ///< what arrived, if the slots were needed elsewhere before finish()
  device::Status status_;
  bool touched_ = false;
};

}  // namespace blastoff::residency::staging
