// A tracker whose pages exist only in it.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tracking/page_tracker.h"

namespace blastoff::test {

using platform::Span;

inline Span span_of(std::size_t first, std::size_t last) {
  return {first * platform::page_size(), last * platform::page_size()};
}

/// A tracker of pages that exist only here. write(), happen() and lose_events() play the program and the kernel.
class PlayedTracker final : public tracking::PageTracker, private tracking::EventSource {
 public:
  static constexpr std::size_t pages = 48;

  const char* name() const override { return "played"; }

  tl::expected<void, std::string> track(Span span) override {
    const std::lock_guard lock(mutex_);
    each_page(span, [&](Page& page) {
      if (!page.tracked) page = {true, true};
    });
    return {};
  }

  void untrack(Span span) override {
    const std::lock_guard lock(mutex_);
    each_page(span, [](Page& page) { page = {}; });
  }

  Scan scan(Span span, bool protect, std::vector<Span>& written) override {
    std::unique_lock lock(mutex_);
    const std::size_t before = written.size();
    bool tracked = true;
    std::size_t number = span.begin / platform::page_size();
    each_page(span, [&](Page& page) {
      tracked = tracked && page.tracked;
      if (tracked && page.written) {
        const Span run = span_of(number, number + 1);
        if (written.size() > before && written.back().end == run.begin)
          written.back().end = run.end;
        else
          written.push_back(run);
        page.written = !protect;
      }
      ++number;
    });
    if (!tracked) written.resize(before);
    lock.unlock();
    std::this_thread::yield();  // others see what this one has consumed before it can tell them
    return tracked ? Scan::ok : Scan::not_tracked;
  }

  void unprotect(Span span) override { write(span); }
  bool allows_pinning() const override { return true; }
  tracking::EventSource& events() override { return *this; }

  void write(Span span) {
    const std::lock_guard lock(mutex_);
    each_page(span, [](Page& page) { page.written = true; });
  }

  void happen(const tracking::MemoryEvent& event) {
    {
      const std::lock_guard lock(mutex_);
      if (event.kind != tracking::MemoryEvent::Kind::dropped) each_page(event.span, [](Page& page) { page = {}; });
      events_.push_back(event);
    }
    happened_.notify_all();
  }

  void lose_events() {
    {
      const std::lock_guard lock(mutex_);
      lost_ = true;
    }
    happened_.notify_all();
  }

 private:
  struct Page {
    bool tracked = false;
    bool written = false;
  };

  bool drain(std::vector<tracking::MemoryEvent>& events) override {
    const std::lock_guard lock(mutex_);
    events.insert(events.end(), events_.begin(), events_.end());
    events_.clear();
    return !std::exchange(lost_, false);
  }
  bool wait_for_events() override {
    std::unique_lock lock(mutex_);
    happened_.wait(lock, [this] { return released_ || lost_ || !events_.empty(); });
    return !released_;
  }
  void stop_waiting() override {
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
    }
    happened_.notify_all();
  }

  template <class Use>
  void each_page(Span span, const Use& use) {
    const std::size_t last = std::min(span.end / platform::page_size(), pages);
    for (std::size_t page = span.begin / platform::page_size(); page < last; ++page) use(pages_.at(page));
  }

  std::mutex mutex_;
  std::condition_variable happened_;
  std::array<Page, pages> pages_;
  std::vector<tracking::MemoryEvent> events_;
  bool lost_ = false;
  bool released_ = false;
};

}  // namespace blastoff::test
