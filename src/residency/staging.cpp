#include "residency/staging.h"

#include <algorithm>
#include <utility>

#include "residency/staging/plan.h"
#include "residency/staging/slots.h"
#include "residency/staging/staged_download.h"
#include "residency/staging/upload.h"

namespace blastoff::residency {
namespace {

class SlotStaging : public Staging {
 public:
  SlotStaging(std::unique_ptr<staging::Slots> slots, platform::WorkerPool& pool)
      : slots_(std::move(slots)), pool_(pool), threads_(static_cast<std::size_t>(pool.workers()) + 1) {}

  device::Status upload(std::span<const Transfer> transfers, device::Queue& queue) override {
    const auto plan = staging::make_plan(transfers, staging::Direction::to_device, slots_->slot_bytes(), threads_);
    return staging::Upload(*slots_, plan, queue).run(pool_);
  }

  /// Columns that do not fill a slot leave some of it empty, at most half.
  std::size_t whole_download_bytes() const override {
    return std::max<std::size_t>(1, slots_->count() / 2) * slots_->slot_bytes() / 2;
  }

  device::Result<std::unique_ptr<Download>> download(std::span<const Transfer> transfers,
                                                     device::Queue& queue) override {
    auto plan = staging::make_plan(transfers, staging::Direction::to_host, slots_->slot_bytes(), threads_);
    return staging::StagedDownload::start(*slots_, pool_, std::move(plan), queue);
  }

 private:
  const std::unique_ptr<staging::Slots> slots_;
  platform::WorkerPool& pool_;
  const std::size_t threads_;
};

}  // namespace

device::Result<std::unique_ptr<Staging>> create_staging(device::Device& device, platform::WorkerPool& pool,
                                                        std::size_t slot_bytes, std::size_t slots) {
  // Pieces start at multiples of a cache line.
  const std::size_t rounded = std::max<std::size_t>(slot_bytes, 64) / 64 * 64;
  auto created = staging::Slots::create(device, rounded, std::max<std::size_t>(slots, 1));
  if (!created) return tl::unexpected(created.error());
  return std::make_unique<SlotStaging>(std::move(*created), pool);
}

}  // namespace blastoff::residency
