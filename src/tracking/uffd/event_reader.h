// The thread that takes memory events from a userfaultfd.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "tracking/uffd/event_ring.h"

namespace blastoff::platform {

/// Owns the thread and the ring, not the descriptor. Programs' munmap and madvise calls on registered memory wait for
/// this thread, maybe inside malloc with its locks held: it takes no lock and never allocates.
class EventReader {
 public:
  /// Reads `uffd` until it is destroyed; nullptr if no thread can be started.
  static std::unique_ptr<EventReader> start(int uffd);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  EventRing& ring() { return shared_->ring; }

  /// See MemoryEvents.
  bool wait_for_events();
  void stop_waiting();

 private:
  /// Outlives whoever of owner and thread goes first.
  struct Shared {
    int uffd = -1;
    int stop = -1;  ///< an eventfd: readable when the thread is to end
    EventRing ring;
    std::atomic<std::uint32_t> arrivals{0};  ///< counts up when the ring may have got something
    std::atomic<bool> released{false};       ///< stop_waiting() was called
    std::atomic<std::uint32_t> ended{0};     ///< the thread uses the descriptors no more
    ~Shared();
  };

  explicit EventReader(std::shared_ptr<Shared> shared);
  static void read_events(Shared& shared);
  static void take_messages(Shared& shared);

  std::shared_ptr<Shared> shared_;
  int process_;
};

}  // namespace blastoff::platform
