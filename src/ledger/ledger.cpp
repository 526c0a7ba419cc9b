#include "ledger/ledger.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "platform/contained.h"
#include "platform/thread_ends.h"
#include "platform/threads.h"

namespace blastoff::ledger {

namespace {

/// Adds runs to those from `first_own` on, and makes these ascending and disjoint.
void merge(std::vector<Span>& runs, std::size_t first_own, const std::vector<Span>& others) {
  if (others.empty()) return;
  runs.insert(runs.end(), others.begin(), others.end());
  const auto own = runs.begin() + static_cast<std::ptrdiff_t>(first_own);
  std::sort(own, runs.end(), [](Span a, Span b) { return a.begin < b.begin; });
  auto last = own;
  for (auto next = std::next(own); next != runs.end(); ++next) {
    if (next->begin <= last->end)
      last->end = std::max(last->end, next->end);
    else
      *++last = *next;
  }
  runs.erase(std::next(last), runs.end());
}

}  // namespace

Ledger::Ledger(std::unique_ptr<tracking::PageTracker> tracker, Places places, Results results)
    : tracker_(std::move(tracker)),
      shared_(places == Places::several),
      process_(getpid()),
      watched_(*tracker_),
      hands_out_(places == Places::several || (results == Results::may_stay && tracker_->absent_pages() != nullptr)) {
  if (!hands_out_) return;
  tracking::AbsentPages* const absent = results == Results::may_stay ? tracker_->absent_pages() : nullptr;
  if (absent) pager_ = std::make_unique<Pager>(states_, *absent, [this] { drain(); });
  const auto work = [this] {
    if (pager_)
      fill_pages();
    else
      hand_out_events();
    platform::announce_end();
    const std::lock_guard lock(memory_mutex_);
    handing_out_ = false;
    events_arrived_.notify_all();
  };
  handing_out_ = true;
  if (pager_ && platform::start_thread("blastoff-pager", work)) return;
  pager_.reset();
  handing_out_ = platform::start_thread("blastoff-share", work);
}

Ledger::~Ledger() {
  end();
}

// In a child, the thread is missing, and may have left locks taken.
void Ledger::end() {
  if (!hands_out_ || in_forked_child()) return;
  if (pager_) pager_->stop();
  tracker_->events().stop_waiting();
  std::unique_lock lock(memory_mutex_);
  events_arrived_.wait(lock, [this] { return !handing_out_; });
}

bool Ledger::in_forked_child() const {
  return getpid() != process_;
}

// Under memory_mutex_. Returns what there is for places to hear.
Ledger::Received Ledger::receive_events() {
  if (!pager_) return apply_events();
  Received received = Received::nothing;
  pager_->apply_events([&] { received = apply_events(); });
  return received;
}

Ledger::Received Ledger::apply_events() {
  received_.clear();
  bool complete = false;
  const bool received = platform::contained([&] { complete = watched_.drain(received_); });
  if (!received) watched_.forget_all();
  if (complete && received_.empty()) return Received::nothing;
  for (const tracking::MemoryEvent& event : received_) states_.gone(event.span);
  if (!complete) states_.invalidate(everything);
  for (Place* place : places_)
    if (place) place->hear(received_, complete);
  return received_.empty() ? Received::only_loss : Received::events;
}

// Under memory_mutex_. A loss alone wakes nobody: a tracker that has ended reports one at each drain, and places that
// wake each other would drain for ever. The thread wakes them.
void Ledger::wake_others(const Place& place, Received received) {
  if (received != Received::events || !hands_out_) return;
  for (Place* other : places_)
    if (other && other != &place) other->awaited_ = true;
  events_arrived_.notify_all();
}

void Ledger::drain() {
  const std::lock_guard lock(memory_mutex_);
  if (receive_events() == Received::nothing) return;  // a place was faster
  for (Place* place : places_)
    if (place) place->awaited_ = true;
  events_arrived_.notify_all();
}

// What a program touches need not be told for ever.
void Ledger::fill_pages() {
  constexpr std::size_t max_untold = 4096;
  pager_->serve([&](const std::vector<Span>& touched) {
    const std::lock_guard lock(memory_mutex_);
    for (Place* place : places_)
      if (place && place->touched_.size() + touched.size() <= max_untold)
        platform::contained([&] { place->touched_.insert(place->touched_.end(), touched.begin(), touched.end()); });
  });
}

void Ledger::hand_out_events() {
  while (tracker_->events().wait_for_events()) drain();
}

Place::Place(Ledger& ledger) : ledger_(ledger) {
  const std::lock_guard lock(ledger_.memory_mutex_);
  number_ = ledger_.places_.size();
  ledger_.places_.push_back(this);
  if (number_ > 0) ledger_.shared_ = true;
}

Place::~Place() {
  if (ledger_.in_forked_child()) return;
  const std::lock_guard lock(ledger_.memory_mutex_);
  ledger_.places_[number_] = nullptr;
}

tl::expected<void, std::string> Place::watch(Span span) {
  const std::lock_guard lock(ledger_.memory_mutex_);
  return ledger_.watched_.watch(span);
}

void Place::forget(Span span) {
  const std::lock_guard lock(ledger_.memory_mutex_);
  ledger_.watched_.forget(span);
}

// A scan that does not protect asks the tracker without waiting for a turn. If another one has consumed a page by then,
// the page is invalid here when the other one's turn is over.
bool Place::scan(Span span, bool protect, std::vector<Span>& written) {
  if (span.empty()) return true;
  const std::size_t before = written.size();
  std::optional<Turn> turn;
  if (protect) turn.emplace(ledger_.turns_, span);
  bool intact = false;
  platform::contained([&] { intact = tracker().scan(span, protect, written) == tracking::PageTracker::Scan::ok; });
  // The memory was replaced, or there was no memory for what was found. What had been consumed by then is not known.
  if (!intact) {
    ledger_.states_.invalidate(span);
    written.resize(before);
    return false;
  }
  if (protect) {
    for (std::size_t i = before; i < written.size(); ++i) {
      ledger_.states_.home(written[i]);  // the pager may have filled it, and not said so yet
      ledger_.states_.invalidate(written[i]);
    }
    if (written.size() > before) ++ledger_.findings_;
  } else {
    turn.emplace(ledger_.turns_, span);
  }
  std::vector<Span> invalid;
  ledger_.states_.invalid(number_, span, invalid);
  merge(written, before, invalid);
  return true;
}

bool Place::protect(Span span, std::vector<Span>& written, std::vector<Span>& faulted) {
  const std::size_t first = written.size();
  if (!scan(span, true, written)) return false;
  ledger_.watched_.note_protected(span, std::span(written).subspan(first), faulted);
  return true;
}

Loan Place::who_has(const std::vector<Span>& wanted, std::span<const std::size_t> holders,
                    const States::Covers& covers) {
  Loan loan;
  for (const Span span : wanted) ledger_.states_.who_has(span, holders, covers, loan);
  return loan;
}

// Nobody may read that there is none before the pages are invalid.
bool Place::answer(std::uint64_t findings, bool foreign) {
  const bool news = foreign && !ledger_.foreign_.exchange(true);
  if (ledger_.foreign_) ledger_.states_.invalidate(everything);
  ledger_.foreign_ = foreign;
  std::uint64_t before = ledger_.cleared_;
  while (!foreign && before < findings && !ledger_.cleared_.compare_exchange_weak(before, findings)) {
  }
  return news;
}

// What a place leaves unheard, while others drain, must not grow for ever. After a loss the events themselves tell it
// nothing more.
void Place::hear(const std::vector<tracking::MemoryEvent>& events, bool complete) {
  constexpr std::size_t max_unheard = 4096;
  events_lost_ = events_lost_ || !complete ||
                 ((ledger_.hands_out_ || shared()) && heard_.size() + events.size() > max_unheard) ||
                 !platform::contained([&] { heard_.insert(heard_.end(), events.begin(), events.end()); });
  if (events_lost_) heard_.clear();
}

bool Place::drain(std::vector<tracking::MemoryEvent>& events) {
  const std::lock_guard lock(ledger_.memory_mutex_);
  ledger_.wake_others(*this, ledger_.receive_events());
  events.insert(events.end(), heard_.begin(), heard_.end());
  heard_.clear();
  return !std::exchange(events_lost_, false);
}

// A scan tells absent pages from written ones by where pages have been given up when it begins.
bool Place::leave(Span span) {
  Pager::Left left = Pager::Left::no;
  {
    const Turn turn(ledger_.turns_, span);
    left = ledger_.pager_->leave(number_, span);
  }
  if (left == Pager::Left::partly) bring_home(span);
  return left == Pager::Left::yes;
}

bool Place::leave(Span span, const Pager::OtherBytes& others) {
  const Turn turn(ledger_.turns_, span);
  return ledger_.pager_->leave(number_, span, others) == Pager::Left::yes;
}

void Place::touched(std::vector<Span>& runs) {
  if (!ledger_.pager_) return;
  const std::lock_guard lock(ledger_.memory_mutex_);
  runs.insert(runs.end(), touched_.begin(), touched_.end());
  touched_.clear();
}

bool Place::wait_for_events() {
  if (!ledger_.hands_out_) return tracker().events().wait_for_events();
  std::unique_lock lock(ledger_.memory_mutex_);
  ledger_.events_arrived_.wait(lock, [this] { return awaited_ || released_; });
  awaited_ = false;
  return !released_;
}

void Place::stop_waiting() {
  if (!ledger_.hands_out_) return tracker().events().stop_waiting();
  const std::lock_guard lock(ledger_.memory_mutex_);
  released_ = true;
  ledger_.events_arrived_.notify_all();
}

}  // namespace blastoff::ledger
