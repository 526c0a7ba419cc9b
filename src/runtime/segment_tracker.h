// What has changed in memory that the processes of a grid share for gathered calls (scalapack/segment.h). The kernel
// does not tell what other processes write there. But the memory is ours, so each of them tells what it changes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "operation/operation.h"
#include "platform/interval_set.h"
#include "tracking/page_tracker.h"

namespace blastoff::runtime {

using platform::Span;

/// Each device of the process has one, for its copies of such memory.
class SegmentTracker final : public tracking::PageTracker, private tracking::EventSource {
 public:
  SegmentTracker();
  ~SegmentTracker() override;
  SegmentTracker(const SegmentTracker&) = delete;
  SegmentTracker& operator=(const SegmentTracker&) = delete;

  /// For all trackers: somebody has written this memory.
  static void changed(Span memory);
  /// The same for results of a gathered call, for all trackers but that of the policy that writes them.
  static void results_changed(const operation::Operation& operation, const SegmentTracker* writer = nullptr);
  /// For all trackers: this memory is about to be unmapped.
  static void ended(Span memory);

  const char* name() const override { return "shared by ranks"; }
  bool tracks(platform::MemoryKind kind) const override { return kind == platform::MemoryKind::shared; }
  tl::expected<void, std::string> track(Span span) override;
  void untrack(Span span) override;
  Scan scan(Span span, bool protect, std::vector<Span>& written) override;
  void unprotect(Span span) override;
  bool allows_pinning() const override { return true; }
  bool is_told() const override { return true; }
  EventSource& events() override { return *this; }

 private:
  bool drain(std::vector<tracking::MemoryEvent>& events) override;
  bool wait_for_events() override;
  void stop_waiting() override;

  static void tell_all_but(const SegmentTracker* writer, Span memory);
  void add_changed(Span memory);
  void add_ended(Span memory);

  std::mutex mutex_;
  std::condition_variable news_;
  platform::IntervalSet tracked_;
  platform::IntervalSet written_;
  std::vector<tracking::MemoryEvent> events_;
  bool lost_ = false;  ///< there was no memory for an event or a write
  bool stopped_ = false;
};

}  // namespace blastoff::runtime
