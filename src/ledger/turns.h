// Who protects or gives up which pages at this moment.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#include "platform/span.h"

namespace blastoff::ledger {

class Turn;

/// Turns for the same pages come in the order in which they were asked for.
class Turns {
  friend class Turn;
  std::mutex mutex_;
  std::condition_variable ended_;
  Turn* latest_ = nullptr;
};

/// A turn as long as this lives. Its constructor waits for earlier turns that have some of its pages.
class Turn {
 public:
  Turn(Turns& turns, platform::Span pages) : turns_(turns), pages_(pages) {
    std::unique_lock lock(turns_.mutex_);
    earlier_ = std::exchange(turns_.latest_, this);
    turns_.ended_.wait(lock, [this] {
      for (const Turn* each = earlier_; each; each = each->earlier_)
        if (each->pages_.overlaps(pages_)) return false;
      return true;
    });
  }
  ~Turn() {
    const std::lock_guard lock(turns_.mutex_);
    Turn** at = &turns_.latest_;
    while (*at != this) at = &(*at)->earlier_;
    *at = earlier_;
    turns_.ended_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
  const platform::Span pages_;
  Turn* earlier_ = nullptr;
};

}  // namespace blastoff::ledger
