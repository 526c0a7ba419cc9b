// A page tracker under which nothing may be pinned, as where unmapping may go unnoticed.
#pragma once

#include <memory>
#include <utility>

#include "tracking/page_tracker.h"

namespace blastoff::test {

class UnpinnableTracker final : public tracking::PageTracker {
 public:
  explicit UnpinnableTracker(std::unique_ptr<tracking::PageTracker> inner) : inner_(std::move(inner)) {}

  const char* name() const override { return inner_->name(); }
  tl::expected<void, std::string> track(platform::Span span) override { return inner_->track(span); }
  void untrack(platform::Span span) override { inner_->untrack(span); }
  Scan scan(platform::Span span, bool protect, std::vector<platform::Span>& written) override {
    return inner_->scan(span, protect, written);
  }
  void unprotect(platform::Span span) override { inner_->unprotect(span); }
  bool allows_pinning() const override { return false; }
  tracking::EventSource& events() override { return inner_->events(); }

 private:
  std::unique_ptr<tracking::PageTracker> inner_;
};

}  // namespace blastoff::test
