#include "device/lane_pool.h"

#include <algorithm>

namespace blastoff::device {
namespace {

Result<std::unique_ptr<Lane>> create_lane(Device& device) {
  auto lane = std::make_unique<Lane>();
  for (auto* queue : {&lane->upload, &lane->compute, &lane->download}) {
    auto created = device.create_queue();
    if (!created) return tl::unexpected(std::move(created.error()));
    *queue = std::move(*created);
  }
  return lane;
}

}  // namespace

Result<LanePool::Lease> LanePool::acquire() {
  {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return !idle_.empty() || created_ < most_; });
    if (idle_.empty()) {
      ++created_;
    } else {
      const auto self = std::this_thread::get_id();
      const auto mine =
          std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.last_user == self; });
      const auto chosen = mine == idle_.rend() ? std::prev(idle_.end()) : std::prev(mine.base());
      auto lane = std::move(chosen->lane);
      idle_.erase(chosen);
      return Lease(*this, std::move(lane));
    }
  }
  auto lane = create_lane(device_);
  if (lane) return Lease(*this, std::move(*lane));
  {
    const std::lock_guard lock(mutex_);
    --created_;
  }
  given_back_.notify_one();
  return tl::unexpected(std::move(lane.error()));
}

void LanePool::give_back(std::unique_ptr<Lane> lane) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back({std::this_thread::get_id(), std::move(lane)});
  }
  given_back_.notify_one();
}

}  // namespace blastoff::device
