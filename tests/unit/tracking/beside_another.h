// A client of a directory beside another one that is always faster: it tracks the same memory, and consumes first what
// a scan or a look for events finds.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tracking/directory.h"

namespace blastoff::test {

using platform::Span;

class BesideAnother final : public tracking::PageTracker, private tracking::EventSource {
 public:
  explicit BesideAnother(std::unique_ptr<tracking::PageTracker> tracker)
      : directory_(std::move(tracker)), other_(directory_.client()), own_(directory_.client()) {}

  const char* name() const override { return own_->name(); }
  tl::expected<void, std::string> track(Span span) override {
    auto tracked = other_->track(span);
    return tracked ? own_->track(span) : tracked;
  }
  void untrack(Span span) override {
    other_->untrack(span);
    own_->untrack(span);
  }
  Scan scan(Span span, bool protect, std::vector<Span>& written) override {
    std::vector<Span> consumed;
    other_->scan(span, true, consumed);
    return own_->scan(span, protect, written);
  }
  void unprotect(Span span) override { own_->unprotect(span); }
  bool allows_pinning() const override { return own_->allows_pinning(); }
  bool faults_once_a_page() const override { return own_->faults_once_a_page(); }
  tracking::EventSource& events() override { return *this; }

 private:
  bool drain(std::vector<tracking::MemoryEvent>& events) override {
    std::vector<tracking::MemoryEvent> consumed;
    const bool complete = other_->events().drain(consumed);
    return own_->events().drain(events) && complete;
  }
  bool wait_for_events() override { return own_->events().wait_for_events(); }
  void stop_waiting() override { own_->events().stop_waiting(); }

  tracking::Directory directory_;
  std::unique_ptr<tracking::PageTracker> other_;
  std::unique_ptr<tracking::PageTracker> own_;
};

}  // namespace blastoff::test
