// The thread that takes memory events from a userfaultfd.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "platform/descriptor.h"
#include "platform/span.h"
#include "tracking/uffd/event_ring.h"

namespace blastoff::tracking {

/// Owns the userfaultfd, the thread and the ring. Programs' munmap and madvise calls on registered memory wait for this
/// thread, maybe inside malloc with its locks held: it takes no lock and never allocates. Where the system allows it
/// the thread has a descriptor table of its own, which the program cannot reach. It is woken through the userfaultfd
/// itself: a page of ours is registered, the *bell*, and dropping it is an event.
class EventReader {
 public:
  /// Reads `uffd` until it is destroyed; nullptr if no thread can be started.
  static std::unique_ptr<EventReader> start(platform::Descriptor uffd);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  EventRing& ring() { return shared_->ring; }

  /// A request of ioctl_userfaultfd(2), made by the calling thread where its number is ours still, else by the reader.
  /// Returns 0 or the error's number; EBADF when the reader has ended.
  int control(unsigned long request, void* argument);

  /// Unregisters the span and tells of it as of unmapped memory.
  int surrender(Span span);

  /// See MemoryEvents.
  bool wait_for_events();
  void stop_waiting();

 private:
  struct Request {
    unsigned long code = 0;  ///< 0: the thread is to end
    void* argument = nullptr;
    Span gone;  ///< to tell of as unmapped, when it has worked
    int error = 0;
  };

  enum class State : std::uint32_t { starting, reading, ended };

  /// Outlives whoever of owner and thread goes first.
  struct Shared {
    int uffd = -1;
    platform::FileIdentity identity;
    bool own_table = false;  ///< the thread's number cannot become anyone else's
    std::uintptr_t bell = 0;
    EventRing ring;
    std::atomic<std::uint32_t> arrivals{0};  ///< counts up when the ring may have got something
    std::atomic<bool> released{false};       ///< stop_waiting() was called
    std::atomic<State> state{State::starting};
    std::atomic<Request*> request{nullptr};  ///< of whoever rang last
    std::atomic<std::uint32_t> answers{0};   ///< counts up with every request done, and at the end
  };

  EventReader(std::shared_ptr<Shared> shared, platform::Descriptor uffd);
  static void read_events(Shared& shared);
  static bool take_messages(Shared& shared);
  static bool answer(Shared& shared);
  static void unregister_all(const Shared& shared);
  int ring_for(Request& request);
  void ring_bell() const;

  std::shared_ptr<Shared> shared_;
  platform::GuardedDescriptor uffd_;
  bool recognisable_ = false;  ///< the identity is this userfaultfd's alone
  int process_;
  std::mutex request_mutex_;  ///< among those who ring; the reader knows nothing of it
};

}  // namespace blastoff::tracking
