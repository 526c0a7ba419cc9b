// The thread that takes memory events from a userfaultfd.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "platform/descriptor.h"
#include "platform/event_lock.h"
#include "platform/span.h"
#include "tracking/uffd/event_ring.h"

struct uffd_msg;

namespace blastoff::tracking {

/// Owns the userfaultfd, the thread and the ring. The program's munmap and madvise calls on registered memory wait for
/// this thread, possibly inside malloc with its locks held. So the thread never allocates, and takes no lock but one
/// that others hold for single requests of ioctl_userfaultfd(2). Where the system allows it, the thread has a
/// descriptor table of its own, which the program cannot reach. It is woken through the userfaultfd itself: a page of
/// ours, the *bell*, is registered, and dropping it is an event.
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

  /// Called by surrender() first. To be set before anything is watched that it concerns.
  void on_surrender(std::function<void(Span)> surrender) { before_surrender_ = std::move(surrender); }
  /// Unregisters the span and reports it as unmapped.
  int surrender(Span span);

  /// Ends the thread and every watch.
  void end();

  /// See MemoryEvents.
  bool wait_for_events();
  void stop_waiting();

  /// Drops the pages of the span without an event of it. Returns 0 or the error number.
  int drop(Span span);
  /// Moves the pages of the span, which lies in one mapping, to memory of ours without an event of it; the span stays
  /// mapped and registered, and so is where the pages are. Returns 0 or the error number: then nothing may be mapped
  /// there.
  int move_away(Span span, std::uintptr_t to);

  /// Makes the request while no event is taken from the kernel: the system call that causes one waits meanwhile.
  /// ECANCELED: an event waits to be drained, and the request was not made.
  int control_while_quiet(unsigned long request, void* argument);
  /// Whether the program cannot close the descriptor that the thread reads.
  bool lasts() const { return shared_->own_table; }

  /// See AbsentPages.
  bool wait_for_faults(std::vector<std::uintptr_t>& addresses, bool& missed);
  void stop_waiting_for_faults();

 private:
  struct Request {
    unsigned long code = 0;  ///< 0: the thread shall end
    void* argument = nullptr;
    Span gone;  ///< reported as unmapped if the request succeeds
    int error = 0;
    bool only_while_quiet = false;
  };

  enum class State : std::uint32_t { starting, reading, ended };

  /// Shared by the owner and the thread. It lives until both have ended.
  struct Shared {
    int uffd = -1;
    platform::FileIdentity identity;
    bool own_table = false;  ///< the thread has its own descriptor table: nobody else can reuse its number
    std::uintptr_t bell = 0;
    EventRing ring;
    std::atomic<std::uint32_t> arrivals{0};                ///< incremented when the ring may have received an event
    std::atomic<bool> released{false};                     ///< stop_waiting() was called
    platform::EventLock reading;                           ///< held while events are taken, and shared by
                                                           ///< control_while_quiet()
    std::atomic<std::uintptr_t> own_begin{0}, own_end{0};  ///< what change_unheard() is changing
    std::atomic<std::uint8_t> own_event{0};                ///< what it causes
    FaultRing faults;
    std::atomic<bool> faults_released{false};  ///< stop_waiting_for_faults() was called
    std::atomic<State> state{State::starting};
    std::atomic<Request*> request{nullptr};  ///< the latest one
    std::atomic<std::uint32_t> answers{0};   ///< incremented after each request and when the thread ends

    /// Wakes those who wait for arrivals.
    void announce() {
      arrivals.fetch_add(1, std::memory_order_release);
      arrivals.notify_all();
    }
  };

  EventReader(std::shared_ptr<Shared> shared, platform::Descriptor uffd);
  static void read_events(Shared& shared);
  static bool take_messages(Shared& shared);
  static bool is_own(const Shared& shared, const uffd_msg& message);
  template <class Change>
  int change_unheard(Span span, std::uint8_t event, Change&& change);
  static bool answer(Shared& shared);
  static void unregister_all(const Shared& shared);
  int ring_for(Request& request);
  void ring_bell() const;

  std::shared_ptr<Shared> shared_;
  platform::GuardedDescriptor uffd_;
  bool recognisable_ = false;  ///< no other descriptor has this identity
  int process_;
  std::function<void(Span)> before_surrender_;
  std::mutex change_mutex_;   ///< one change at a time; the reader never takes it
  std::mutex request_mutex_;  ///< one request at a time; the reader never takes it
};

}  // namespace blastoff::tracking
