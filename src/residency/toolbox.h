// What leases need beside their queues, kept between calls: events, and the log of direct returns.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "residency/commit_log.h"

namespace blastoff::residency {

/// The base of a lease's tools.
struct LeaseTools {
  std::unique_ptr<CommitLog> log;  ///< where results were returned directly; null until such a result may be torn

  /// Makes the log if there is none yet.
  device::Status need_log(device::Device& device, device::Queue& queue) {
    if (log) return {};
    auto made = CommitLog::create(device, queue);
    if (!made) return tl::unexpected(made.error());
    log = std::move(*made);
    return {};
  }
};

/// Tools that no lease uses. `Tools::events()` are pointers to its events, which take() creates. Thread-safe.
template <class Tools>
class Toolbox {
 public:
  explicit Toolbox(device::Device& device) : device_(device) {}

  device::Result<std::unique_ptr<Tools>> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto tools = std::move(idle_.back());
        idle_.pop_back();
        return tools;
      }
    }
    auto tools = std::make_unique<Tools>();
    for (std::unique_ptr<device::Event>* const event : tools->events()) {
      auto created = device_.create_event();
      if (!created) return tl::unexpected(created.error());
      *event = std::move(*created);
    }
    const std::lock_guard lock(mutex_);
    idle_.reserve(made_ + 1);
    ++made_;
    return tools;
  }

  /// Needs no memory.
  void give_back(std::unique_ptr<Tools> tools) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(tools));  // which has room
  }

 private:
  device::Device& device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Tools>> idle_;
  std::size_t made_ = 0;
};

}  // namespace blastoff::residency
