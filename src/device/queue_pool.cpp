#include "device/queue_pool.h"

#include <algorithm>

#include "platform/contained.h"

namespace blastoff::device {
namespace {

Result<std::unique_ptr<CallQueues>> create_queues(Device& device) {
  auto queues = std::make_unique<CallQueues>();
  for (auto* queue : {&queues->upload, &queues->compute, &queues->download}) {
    auto created = device.create_queue();
    if (!created) return tl::unexpected(std::move(created.error()));
    *queue = std::move(*created);
  }
  return queues;
}

}  // namespace

Result<QueuePool::Lease> QueuePool::acquire() {
  constexpr std::chrono::milliseconds look_again{2};
  std::unique_lock lock(mutex_);
  for (bool at_once = true;; at_once = false) {
    if (!idle_.empty()) return Lease(*this, take_idle(), at_once);
    const auto now = Clock::now();
    const bool worth_it = waited_ >= price && now - latest_ >= 2 * price;
    if (created_ == 0 || (worth_it && created_ < max_)) return create(lock);
    given_back_.wait_for(lock, look_again);
    waited_ += Clock::now() - now;
  }
}

std::unique_ptr<CallQueues> QueuePool::take_idle() {
  const auto self = std::this_thread::get_id();
  const auto mine =
      std::find_if(idle_.rbegin(), idle_.rend(), [&](const Idle& idle) { return idle.last_user == self; });
  const auto chosen = mine == idle_.rend() ? std::prev(idle_.end()) : std::prev(mine.base());
  auto queues = std::move(chosen->queues);
  idle_.erase(chosen);
  return queues;
}

Result<QueuePool::Lease> QueuePool::create(std::unique_lock<std::mutex>& lock) {
  idle_.reserve(created_ + 1);  // so give_back() need not allocate memory
  ++created_;
  waited_ = {};
  latest_ = Clock::now();
  lock.unlock();
  Result<std::unique_ptr<CallQueues>> queues = tl::unexpected(no_host_memory());
  platform::contained([&] { queues = create_queues(device_); });
  lock.lock();
  if (queues) return Lease(*this, std::move(*queues), false);
  --created_;
  return tl::unexpected(std::move(queues.error()));
}

void QueuePool::give_back(std::unique_ptr<CallQueues> queues) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back({std::this_thread::get_id(), std::move(queues)});
  }
  given_back_.notify_one();
}

}  // namespace blastoff::device
