// One tracker for several clients. The kernel accepts one write tracker for a range, and a scan that protects pages
// consumes what it finds. So the devices of a process, each of which has copies of its own of what the program wrote,
// share the tracker: what one of them consumes is kept for the others.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "platform/interval_set.h"
#include "tracking/page_tracker.h"

namespace blastoff::tracking {

/// Thread-safe. Destroyed after its clients. In a child of fork, it and they can only be destroyed.
class Directory {
 public:
  /// Starts a thread named blastoff-share, which hands out events to clients that wait for them.
  explicit Directory(std::unique_ptr<PageTracker> tracker);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /// A tracker that behaves as if its user were alone with the program:
  ///
  /// * A page is written for a client from when the client begins to track it, when the program writes it, and when
  ///   another client says that its device did (wrote()), until the client itself protects it.
  /// * unprotect() makes pages written for all clients.
  /// * A page is tracked as long as a client tracks it. A client that does not track part of a span gets not_tracked.
  ///   Where the tracker knows nothing of a span any more, that holds for all clients until they track it again.
  /// * Every client gets all events of the memory that any of them tracks, and hears where events were lost.
  ///
  /// Protecting scans of different clients take turns, the others do not. The destructor untracks what only this client
  /// tracked.
  std::unique_ptr<PageTracker> client();

 private:
  class Client;

  tl::expected<void, std::string> track(Client& client, Span span);
  void untrack(Client& client, Span span);
  PageTracker::Scan scan(Client& client, Span span, bool protect, std::vector<Span>& written);
  void wrote(const Client& writer, Span span);
  bool drain(Client& client, std::vector<MemoryEvent>& events);
  bool wait_for_events(Client& client);
  void stop_waiting(Client& client);
  void leave(Client& client);
  enum class Received : std::uint8_t { nothing, events, only_loss };
  Received receive_events();
  void wake_others(const Client& client, Received received);
  void forget(Span span);
  bool in_forked_child() const;
  void keep_for_others(const Client& client, Span span);
  void hand_out_events();

  const std::unique_ptr<PageTracker> tracker_;
  const int process_;

  std::mutex events_mutex_;  ///< taken before pages_mutex_
  std::condition_variable events_arrived_;
  std::vector<MemoryEvent> received_;  ///< scratch
  bool handing_out_ = false;           ///< the thread runs

  std::mutex pages_mutex_;        ///< while pages are protected, too: until what was found is kept for the others
  std::vector<Client*> clients_;  ///< under both locks
};

}  // namespace blastoff::tracking
