// One ledger of copies. The kernel accepts one write tracker for a range of memory, and a scan that protects pages
// consumes what it finds. So the places of a process that hold copies of its memory (its devices) share the tracker,
// and the ledger: a page that was written, whoever finds it, is invalid at every place.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ledger/pager.h"
#include "ledger/states.h"
#include "ledger/turns.h"
#include "tracking/page_tracker.h"
#include "tracking/watched_memory.h"

namespace blastoff::ledger {

class Place;

/// Thread-safe. Destroyed after its places. In a child of fork, it and they can only be destroyed.
class Ledger {
 public:
  enum class Places : std::uint8_t { one, several };

  enum class Results : std::uint8_t { go_home, may_stay };

  /// For several places it starts a thread named blastoff-share, which wakes those that wait for events. Where results
  /// may stay and the tracker can give up pages, the thread also fills these, and is named blastoff-pager. Without a
  /// thread, only the first place can wait, and events that another place drains do not wake it.
  explicit Ledger(std::unique_ptr<tracking::PageTracker> tracker, Places places = Places::one,
                  Results results = Results::go_home);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  tracking::PageTracker& tracker() { return *tracker_; }
  bool shared() const { return shared_; }

  /// Results that only devices have come home. No other will stay there.
  void bring_results_home() {
    if (pager_) pager_->end();
  }
  /// The same before the process forks, so that a child has them, and until it has forked.
  void before_fork() {
    if (pager_) pager_->before_fork();
  }
  void after_fork_in_parent() {
    if (pager_) pager_->after_fork_in_parent();
  }
  /// Ends the thread. Nobody may use the ledger any more, and no result may be at a place alone.
  void end();
  /// Whether any of these pages is newest at a place.
  bool any_newest(Span pages) { return states_.any_newest(pages); }
  /// Shows what becomes of results that have stayed, from here on.
  void show_in(platform::ResultsGauge& gauge) {
    if (pager_) pager_->show_in(gauge);
  }

 private:
  friend class Place;
  enum class Received : std::uint8_t { nothing, events, only_loss };

  Received receive_events();
  Received apply_events();
  void wake_others(const Place& place, Received received);
  void drain();
  void hand_out_events();
  void fill_pages();
  bool in_forked_child() const;

  const std::unique_ptr<tracking::PageTracker> tracker_;
  std::atomic<bool> shared_;  ///< several places are expected, or there are
  const int process_;
  States states_;
  std::unique_ptr<Pager> pager_;  ///< nullptr: all results go home

  Turns turns_;  ///< to protect pages, until all places can know what was found, and to give them up
  std::atomic<std::uint64_t> findings_ = 0;  ///< scans that have found written pages
  std::atomic<std::uint64_t> cleared_ = 0;   ///< of these, those that no foreign writer has made
  std::atomic<bool> foreign_ = false;        ///< the last answer: there is such a writer

  std::mutex memory_mutex_;  ///< of what is watched, and of its events
  tracking::WatchedMemory watched_;
  std::vector<tracking::MemoryEvent> received_;  ///< scratch
  std::vector<Place*> places_;                   ///< null: it has gone
  std::condition_variable events_arrived_;
  const bool hands_out_;      ///< a thread is to
  bool handing_out_ = false;  ///< it runs
};

/// What one holder of copies knows of memory. Thread-safe, except that its copies (ledger::Copy) are changed by one
/// thread at a time.
///
/// A page of a copy counts as written here when the program has written it since this place last took it, whoever found
/// that, and when another place has written it itself (wrote()).
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

  /// Appends the runs of pages of a watched span that were written, ascending; `protect` protects them. From then on
  /// they are *invalid* here until take(), even if it throws. So threads that use the same copies may scan at once:
  /// each takes what is invalid by then. False: the memory is not the one that was watched; call forget() and watch().
  bool scan(Span span, bool protect, std::vector<Span>& written);

  /// The same with `protect`. Appends to `faulted` those of the pages that were protected before: the CPU has taken a
  /// page fault for each.
  bool protect(Span span, std::vector<Span>& written, std::vector<Span>& faulted);

  /// Those of the pages that were protected, and have not been unprotected. The CPU may have written them since.
  std::vector<Span> find_protected(Span span) { return ledger_.watched_.find_protected(span); }

  /// Prepares pages that are about to be overwritten, so that writing to them costs no page faults.
  void unprotect(Span span) { ledger_.watched_.unprotect(span); }

  /// This place is to have a copy of the chunk. A page of it becomes current before its upload begins.
  Copy& open(std::uintptr_t chunk, device::Address address) { return ledger_.states_.open(number_, chunk, address); }
  void close(std::uintptr_t chunk) { ledger_.states_.close(number_, chunk); }

  /// Appends the runs of pages that are *invalid* here.
  void invalid(Span span, std::vector<Span>& runs) { ledger_.states_.invalid(number_, span, runs); }

  /// The pages are not current here; what scans have reported of them is known. Returns how many were current.
  std::size_t take(Span span) { return ledger_.states_.take(number_, span); }

  /// What other places (by number) have of these pages, which this place has protected. A write since then it finds at
  /// its next scan. An earlier one, but after the other place last protected the page, was found by this place's scan
  /// or by one that had its turn before, and has made the page invalid there. Other bytes than those that `covers` asks
  /// for may be anything.
  Loan who_has(const std::vector<Span>& wanted, std::span<const std::size_t> holders, const States::Covers& covers);
  std::size_t number() const { return number_; }
  /// Waits until none of these pages is *arriving* at that place, or until then.
  void await_arrival(std::size_t place, Span span, std::chrono::steady_clock::time_point until) {
    ledger_.states_.await_arrival(place, span, until);
  }
  /// The call is over, or has failed here, that has kept these pages *steady* here.
  void end_steady(Span span) { ledger_.states_.end_steady(number_, span); }

  /// Whether there is a writer that bypasses the page table, as far as is known. Registering memory for one writes to
  /// its pages. So this need be asked only after a scan that found written pages (at any place), and before anybody
  /// relies on what these pages hold.
  bool foreign() const { return ledger_.foreign_; }
  bool unasked() const { return ledger_.findings_ > ledger_.cleared_; }
  /// How often scans have found written pages.
  std::uint64_t findings() const { return ledger_.findings_; }
  /// The answer, asked for after so many findings. If there is such a writer, or was one up to now, all is invalid at
  /// all places: nothing is known about what it wrote before it was found, or until it went.
  /// Returns whether there is one and was none before.
  bool answer(std::uint64_t findings, bool foreign);

  /// Whether results may stay here.
  bool may_leave() const { return ledger_.pager_ && !ledger_.pager_->ended(); }
  /// Where they are read (Pager::read_from).
  void read_from(PageSource* source) {
    if (ledger_.pager_) ledger_.pager_->read_from(number_, source);
  }
  /// This place has computed these pages: the host's are given up. False: they cannot be, and all of the span is to be
  /// written by the caller. Needs read_from().
  bool leave(Span span);
  /// The same where it has computed only some of the bytes (Pager::leave); there is no other place. False: nothing has
  /// changed.
  bool leave(Span span, const Pager::OtherBytes& others);
  /// Pages of the result have been left.
  void note(const LeftResult& result) {
    if (ledger_.pager_) ledger_.pager_->note(result);
  }
  /// How much of the host's pages of the span was given up, at any place.
  std::size_t bytes_left(Span span) const { return ledger_.states_.newest_bytes(span); }
  bool any_left(Span span) const { return bytes_left(span) > 0; }
  bool all_left_here(Span span) const { return ledger_.states_.all_newest(number_, span); }
  /// The same of what this place has computed anew.
  bool left_again(Span span) { return ledger_.pager_ && ledger_.pager_->left_again(number_, span); }
  /// See Pager::use_newest().
  template <class Use>
  void use_newest(std::span<const Span> spans, Use&& use) {
    if (ledger_.pager_) ledger_.pager_->use_newest(number_, spans, use);
  }
  /// Fills them.
  void bring_home(std::span<const Span> spans) {
    if (ledger_.pager_) ledger_.pager_->bring_home(spans);
  }
  void bring_home(Span span) { bring_home({&span, 1}); }
  /// Appends the runs of pages that were filled because somebody touched them, since the last time.
  void touched(std::vector<Span>& runs);

  /// This place has written these pages, without a trace in the page table.
  void wrote(Span span) { ledger_.states_.invalidate(span, number_); }

  /// Appends the events of watched memory up to now, which is invalid at all places. False: events were lost, and all
  /// memory is.
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
  std::vector<Span> touched_;  ///< for the next touched()
  bool awaited_ = false;       ///< something for wait_for_events()
  bool released_ = false;
};

}  // namespace blastoff::ledger
