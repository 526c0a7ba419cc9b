// A page tracker on which a test can hold a protecting scan that has found something written.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "held_device.h"
#include "tracking/page_tracker.h"

namespace blastoff::test {

class HeldTracker final : public tracking::PageTracker {
 public:
  HeldTracker(std::unique_ptr<tracking::PageTracker> inner, std::shared_ptr<HeldCall> scan)
      : inner_(std::move(inner)), scan_(std::move(scan)) {}

  const char* name() const override { return inner_->name(); }
  bool tracks(platform::MemoryKind kind) const override { return inner_->tracks(kind); }
  tl::expected<void, std::string> track(platform::Span span) override { return inner_->track(span); }
  void untrack(platform::Span span) override { inner_->untrack(span); }
  /// Held when the pages are protected, and nobody but this scan knows that they were written.
  Scan scan(platform::Span span, bool protect, std::vector<platform::Span>& written) override {
    const std::size_t before = written.size();
    const Scan scanned = inner_->scan(span, protect, written);
    if (protect && written.size() > before) scan_->pass();
    return scanned;
  }
  void unprotect(platform::Span span) override { inner_->unprotect(span); }
  bool allows_pinning() const override { return inner_->allows_pinning(); }
  bool faults_once_a_page() const override { return inner_->faults_once_a_page(); }
  tracking::EventSource& events() override { return inner_->events(); }

 private:
  std::unique_ptr<tracking::PageTracker> inner_;
  std::shared_ptr<HeldCall> scan_;
};

}  // namespace blastoff::test
