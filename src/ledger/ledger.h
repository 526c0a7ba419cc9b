// One ledger of copies. The kernel accepts one write tracker for a range of memory, and a scan that protects pages
// consumes what it finds. So the places of a process that hold copies of its memory (its devices) share the tracker,
// and the ledger: a page that was written, whoever finds it, is invalid at every place.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ledger/states.h"
#include "tracking/page_tracker.h"
#include "tracking/watched_memory.h"

namespace blastoff::ledger {

class Place;

/// Thread-safe. Destroyed after its places. In a child of fork, it and they can only be destroyed.
class Ledger {
 public:
  enum class Places : std::uint8_t { one, several };

  /// For several places it starts a thread named blastoff-share, which wakes those that wait for events.
  explicit Ledger(std::unique_ptr<tracking::PageTracker> tracker, Places places = Places::one);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  tracking::PageTracker& tracker() { return *tracker_; }
  bool shared() const { return places_expected_ == Places::several; }

 private:
  friend class Place;
  enum class Received : std::uint8_t { nothing, events, only_loss };

  Received receive_events();
  void wake_others(const Place& place, Received received);
  void hand_out_events();
  bool in_forked_child() const;

  const std::unique_ptr<tracking::PageTracker> tracker_;
  const Places places_expected_;
  const int process_;
  States states_;

  /// One at a time protects pages, until all places can know what was found.
  std::mutex turn_;

  std::mutex memory_mutex_;  ///< of what is watched, and of its events
  tracking::WatchedMemory watched_;
  std::vector<tracking::MemoryEvent> received_;  ///< scratch
  std::vector<Place*> places_;                   ///< null: it has gone
  std::condition_variable events_arrived_;
  bool handing_out_ = false;  ///< the thread runs
};

/// What one holder of copies knows of memory. Thread-safe, but no copy may become current during drain().
///
/// A page counts as written here until this place has protected it for the first time, when the program has written it
/// since this place last did so, whoever found that, and when another place has written it itself (wrote()).
class Place {
 public:
  explicit Place(Ledger& ledger);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  tracking::PageTracker& tracker() { return ledger_.tracker(); }
  /// Whether there may be other places.
  bool shared() const { return ledger_.shared(); }

  /// Tracks writes to the span. The error says why that is not possible ("shared memory", ...).
  tl::expected<void, std::string> watch(Span span);
  /// The memory of the span has been replaced without an event: watch it again.
  void forget(Span span);

  /// Appends the runs of pages of a watched span that were written, ascending; `protect` protects them. False: the
  /// memory is not the one that was watched; call forget() and watch(). If it throws, what was found is lost, and no
  /// copy of the span is current any more.
  bool scan(Span span, bool protect, std::vector<Span>& written);

  /// The same with `protect`. Appends to `faulted` those of the pages that were protected before: the CPU has taken a
  /// page fault for each.
  bool protect(Span span, std::vector<Span>& written, std::vector<Span>& faulted);

  /// Prepares pages that are about to be overwritten, so that writing to them costs no page faults.
  void unprotect(Span span) { ledger_.watched_.unprotect(span); }

  /// This place makes copies of the span current, without a scan before: it learns from here on what is written.
  void keep(Span span) { ledger_.states_.open(number_, span); }

  /// Whether this place can have anything of the span. No kernel call.
  bool has_looked_at(Span span) { return ledger_.states_.any_open(number_, span); }

  /// Appends the pages that count as written here, as far as scans of all places have found by now. No kernel call.
  void found_written(Span span, std::vector<Span>& written) { ledger_.states_.invalid(number_, span, written); }

  /// This place has written these pages, without a trace in the page table.
  void wrote(Span span) { ledger_.states_.invalidate(span, number_); }

  /// Appends the events of watched memory up to now. The place's copies of that memory end with it. False: events were
  /// lost, and all copies end.
  bool drain(std::vector<tracking::MemoryEvent>& events);

  /// Blocks until there is something to drain (true) or stop_waiting() was called (false).
  bool wait_for_events();
  void stop_waiting();

 private:
  friend class Ledger;
  void hear(const std::vector<tracking::MemoryEvent>& events, bool complete);

  Ledger& ledger_;
  std::size_t number_ = 0;
  // Under the ledger's memory_mutex_:
  std::vector<tracking::MemoryEvent> heard_;  ///< for the next drain()
  bool events_lost_ = false;
  bool awaited_ = false;  ///< something for wait_for_events()
  bool released_ = false;
};

}  // namespace blastoff::ledger
