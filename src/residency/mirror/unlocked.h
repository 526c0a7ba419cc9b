// A lock that is given back for a while.
#pragma once

#include <mutex>

namespace blastoff::residency::mirror {

/// Gives a lock back as long as this lives.
class Unlocked {
 public:
  explicit Unlocked(std::mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::mutex& mutex_;
};

}  // namespace blastoff::residency::mirror
