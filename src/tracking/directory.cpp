#include "tracking/directory.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "platform/contained.h"
#include "platform/threads.h"

namespace blastoff::tracking {

using platform::IntervalSet;

class Directory::Client final : public PageTracker, private EventSource {
 public:
  explicit Client(Directory& directory) : directory_(directory) {}
  ~Client() override { directory_.leave(*this); }

  const char* name() const override { return directory_.tracker_->name(); }
  tl::expected<void, std::string> track(Span span) override { return directory_.track(*this, span); }
  void untrack(Span span) override { directory_.untrack(*this, span); }
  Scan scan(Span span, bool protect, std::vector<Span>& written) override {
    return directory_.scan(*this, span, protect, written);
  }
  // The next scan of any client finds the pages written.
  void unprotect(Span span) override { directory_.tracker_->unprotect(span); }
  bool shared() const override { return true; }
  void wrote(Span span) override { directory_.wrote(*this, span); }
  bool allows_pinning() const override { return directory_.tracker_->allows_pinning(); }
  bool faults_once_a_page() const override { return directory_.tracker_->faults_once_a_page(); }
  EventSource& events() override { return *this; }

 private:
  friend class Directory;

  // What a client leaves unheard must not grow for ever. After a loss the events themselves tell it nothing more.
  void hear(const std::vector<MemoryEvent>& events, bool complete) {
    constexpr std::size_t max_unheard = 4096;
    events_lost_ = events_lost_ || !complete || heard_.size() + events.size() > max_unheard ||
                   !platform::contained([&] { heard_.insert(heard_.end(), events.begin(), events.end()); });
    if (events_lost_) heard_.clear();
  }

  bool drain(std::vector<MemoryEvent>& events) override { return directory_.drain(*this, events); }
  bool wait_for_events() override { return directory_.wait_for_events(*this); }
  void stop_waiting() override { directory_.stop_waiting(*this); }

  Directory& directory_;

  // Under pages_mutex_.
  IntervalSet tracked_;
  IntervalSet pending_;  ///< tracked, and written for this client although the tracker does not say so any more

  // Under events_mutex_.
  std::vector<MemoryEvent> heard_;  ///< for its next drain()
  bool events_lost_ = false;
  bool awaited_ = false;  ///< something for wait_for_events()
  bool released_ = false;
};

namespace {

constexpr Span everything = {0, ~std::uintptr_t{0}};

/// Appends the runs of two lists, each ascending, as one. Runs of the result before `first_own` stay as they are.
void merge(std::vector<Span>& runs, std::size_t first_own, const std::vector<Span>& others) {
  if (others.empty()) return;
  const auto own = runs.begin() + static_cast<std::ptrdiff_t>(first_own);
  std::vector<Span> all;
  all.reserve(runs.size() - first_own + others.size());
  std::merge(own, runs.end(), others.begin(), others.end(), std::back_inserter(all),
             [](Span a, Span b) { return a.begin < b.begin; });
  runs.resize(first_own);
  for (const Span run : all) {
    if (runs.size() > first_own && runs.back().end >= run.begin)
      runs.back().end = std::max(runs.back().end, run.end);
    else
      runs.push_back(run);
  }
}

}  // namespace

Directory::Directory(std::unique_ptr<PageTracker> tracker)
    : tracker_(std::move(tracker)), process_(getpid()), handing_out_(true) {
  if (!platform::start_thread("blastoff-share", [this] { hand_out_events(); })) handing_out_ = false;
}

// In a child, the thread is missing, and may have left locks taken.
Directory::~Directory() {
  if (in_forked_child()) return;
  tracker_->events().stop_waiting();
  std::unique_lock lock(events_mutex_);
  events_arrived_.wait(lock, [this] { return !handing_out_; });
}

bool Directory::in_forked_child() const {
  return getpid() != process_;
}

std::unique_ptr<PageTracker> Directory::client() {
  auto client = std::make_unique<Client>(*this);
  const std::scoped_lock lock(events_mutex_, pages_mutex_);
  clients_.push_back(client.get());
  return client;
}

void Directory::leave(Client& client) {
  if (in_forked_child()) return;
  untrack(client, everything);
  const std::scoped_lock lock(events_mutex_, pages_mutex_);
  std::erase(clients_, &client);
}

// What an event says of memory that lay there before must not be taken for the end of what is tracked from now on. What
// the tracker already tracks for others may be protected, and stays so; for a new client it is written.
tl::expected<void, std::string> Directory::track(Client& client, Span span) {
  {
    const std::lock_guard lock(events_mutex_);
    wake_others(client, receive_events());
  }
  const std::lock_guard lock(pages_mutex_);
  if (auto tracked = tracker_->track(span); !tracked) return tracked;
  client.tracked_.each_gap(span, [&](Span fresh) { client.pending_.add(fresh); });
  client.tracked_.add(span);
  return {};
}

void Directory::untrack(Client& client, Span span) {
  const std::lock_guard lock(pages_mutex_);
  IntervalSet unused;
  client.tracked_.each_common(span, [&](Span part) { unused.add(part); });
  client.tracked_.remove(span);
  client.pending_.remove(span);
  for (const Client* other : clients_) other->tracked_.each_common(span, [&](Span part) { unused.remove(part); });
  unused.each_common(span, [&](Span part) { tracker_->untrack(part); });
}

void Directory::keep_for_others(const Client& client, Span span) {
  const bool kept = platform::contained([&] {
    for (Client* other : clients_)
      if (other != &client) other->tracked_.each_common(span, [&](Span part) { other->pending_.add(part); });
  });
  if (!kept) forget(span);
}

// A scan that does not protect asks the tracker without the lock, and takes what is pending afterwards: if another
// client's scan has consumed a page by then, the page is pending when that scan gives back the lock.
PageTracker::Scan Directory::scan(Client& client, Span span, bool protect, std::vector<Span>& written) {
  if (span.empty()) return PageTracker::Scan::ok;
  const std::size_t before = written.size();
  std::unique_lock lock(pages_mutex_);
  if (!client.tracked_.contains(span)) return PageTracker::Scan::not_tracked;
  if (!protect) lock.unlock();
  PageTracker::Scan found = PageTracker::Scan::not_tracked;
  const bool complete = platform::contained([&] { found = tracker_->scan(span, protect, written); });
  if (!protect) lock.lock();
  // The memory was replaced, or there was none for what was found. What a scan that broke off there had consumed before
  // is not known.
  if (found != PageTracker::Scan::ok) forget(span);
  if (protect && complete)
    for (std::size_t i = before; i < written.size(); ++i) keep_for_others(client, written[i]);
  if (!client.tracked_.contains(span)) {
    written.resize(before);
    return PageTracker::Scan::not_tracked;
  }
  std::vector<Span> pending;
  client.pending_.each_common(span, [&](Span part) { pending.push_back(part); });
  if (protect) client.pending_.remove(span);
  merge(written, before, pending);
  return PageTracker::Scan::ok;
}

void Directory::wrote(const Client& writer, Span span) {
  const std::lock_guard lock(pages_mutex_);
  keep_for_others(writer, span);
}

// Under pages_mutex_. A client that goes on using the memory tracks it again, and then all of it is written. To take a
// span out of the middle of another takes memory; where there is none, everything is forgotten.
void Directory::forget(Span span) {
  const bool cut = platform::contained([&] {
    for (Client* client : clients_) {
      client->tracked_.remove(span);
      client->pending_.remove(span);
    }
  });
  if (cut) return;
  for (Client* client : clients_) {
    client->tracked_.clear();
    client->pending_.clear();
  }
}

// Under events_mutex_. Returns what there is for clients to hear.
Directory::Received Directory::receive_events() {
  received_.clear();
  bool complete = false;
  platform::contained([&] { complete = tracker_->events().drain(received_); });
  if (complete && received_.empty()) return Received::nothing;
  const std::lock_guard lock(pages_mutex_);
  complete = complete && platform::contained([&] {
               for (const MemoryEvent& event : received_)
                 if (event.kind != MemoryEvent::Kind::dropped) forget(event.span);
             });
  if (!complete) forget(everything);
  for (Client* client : clients_) client->hear(received_, complete);
  return received_.empty() ? Received::only_loss : Received::events;
}

// Under events_mutex_. A loss alone wakes nobody: a tracker that has ended reports one at each drain, and clients that
// wake each other would drain for ever. The thread wakes them.
void Directory::wake_others(const Client& client, Received received) {
  if (received != Received::events) return;
  for (Client* other : clients_) other->awaited_ = other->awaited_ || other != &client;
  events_arrived_.notify_all();
}

bool Directory::drain(Client& client, std::vector<MemoryEvent>& events) {
  const std::lock_guard lock(events_mutex_);
  wake_others(client, receive_events());
  events.insert(events.end(), client.heard_.begin(), client.heard_.end());
  client.heard_.clear();
  return !std::exchange(client.events_lost_, false);
}

void Directory::hand_out_events() {
  while (tracker_->events().wait_for_events()) {
    const std::lock_guard lock(events_mutex_);
    if (receive_events() == Received::nothing) continue;  // a client was faster
    for (Client* client : clients_) client->awaited_ = true;
    events_arrived_.notify_all();
  }
  const std::lock_guard lock(events_mutex_);
  handing_out_ = false;
  events_arrived_.notify_all();
}

bool Directory::wait_for_events(Client& client) {
  std::unique_lock lock(events_mutex_);
  events_arrived_.wait(lock, [&] { return client.awaited_ || client.released_; });
  client.awaited_ = false;
  return !client.released_;
}

void Directory::stop_waiting(Client& client) {
  const std::lock_guard lock(events_mutex_);
  client.released_ = true;
  events_arrived_.notify_all();
}

}  // namespace blastoff::tracking
