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

/// Owns the userfaultfd, the thread and the ring. The program's munmap and madvise calls on registered memory wait for
/// this thread, possibly inside malloc with its locks held. So the thread takes no lock and never allocates. Where the
/// system allows it, the thread has a descriptor table of its own, which the program cannot reach. It is woken through
/// the userfaultfd itself: a page of ours, the *bell*, is registered, and dropping it is an event.
class EventReader {
 public:
  /// Reads `uffd` until it is destroyed; nullptr if no thread can be started.
  static std::unique_ptr<EventReader> start(platform::Descriptor uffd);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  EventRing& ring() { return shared_->ring; }

  /// Makes a request of ioctl_userfaultfd(2): in the calling thread if its descriptor is still ours, else in the
  /// reader. Returns 0 or the error number; EBADF if the reader has ended.
  int control(unsigned long request, void* argument);

  /// Unregisters the span and reports it as unmapped.
  int surrender(Span span);

  /// See MemoryEvents.
  bool wait_for_events();
  void stop_waiting();

 private:
  struct Request {
    unsigned long code = 0;  ///< 0: the thread shall end
    void* argument = nullptr;
    Span gone;  ///< reported as unmapped if the request succeeds
    int error = 0;
  };

  enum class State : std::uint32_t { starting, reading, ended };

  /// Shared by the owner and the thread. It lives until both have ended.
  struct Shared {
    int uffd = -1;
    platform::FileIdentity identity;
    bool own_table = false;  ///< the thread has its own descriptor table: nobody else can reuse its number
    std::uintptr_t bell = 0;
    EventRing ring;
    std::atomic<std::uint32_t> arrivals{0};  ///< incremented when the ring may have received an event
    std::atomic<bool> released{false};       ///< stop_waiting() was called
    std::atomic<State> state{State::starting};
    std::atomic<Request*> request{nullptr};  ///< the latest one
    std::atomic<std::uint32_t> answers{0};   ///< incremented after each request and when the thread ends
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
  bool recognisable_ = false;  ///< no other descriptor has this identity
  int process_;
  std::mutex request_mutex_;  ///< one request at a time; the reader never takes it
};

}  // namespace blastoff::tracking
