// The program's writes as the trace gives them, in place of the kernel's tracking.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "operation/operation.h"
#include "platform/interval_set.h"
#include "tracking/page_tracker.h"

namespace blastoff::prediction {

class ReplayedTracker final : public tracking::PageTracker, public tracking::EventSource {
 public:
  const char* name() const override { return "trace"; }
  tl::expected<void, std::string> track(platform::Span span) override;
  void untrack(platform::Span span) override;
  Scan scan(platform::Span span, bool protect, std::vector<platform::Span>& written) override;
  void unprotect(platform::Span span) override;
  bool allows_pinning() const override { return true; }
  tracking::EventSource& events() override { return *this; }

  bool drain(std::vector<tracking::MemoryEvent>& events) override;
  bool wait_for_events() override;
  void stop_waiting() override;

  /// The CPU writes the pages.
  void replay_write(platform::Span span);
  /// The program gives the memory back; there may be new memory at the addresses.
  void lose(platform::Span span);
  /// The pages exist, since the program reads them.
  void replay_presence(platform::Span span);
  /// Bytes of `span` in new memory that nobody has written yet. The kernel makes their pages when they are written.
  std::size_t new_bytes(platform::Span span) const;
  /// The kernel could not track this memory.
  void refuse(platform::Span span, const std::string& why);

  /// Replaces a hash of some of the matrix's elements by the latest writes to some pages that are spread over it. It
  /// leaves out the first and the last page, which hold other data, too. It takes so few pages that one written page is
  /// likely to be missed, as one written element is.
  std::uint64_t fingerprint(const operation::Operand& operand) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable stopped_waiting_;
  bool stopped_ = false;
  platform::IntervalSet tracked_;
  platform::IntervalSet protected_;
  platform::IntervalSet new_;                                                 ///< lost, and not written since
  std::map<std::uintptr_t, std::pair<std::uintptr_t, std::string>> refused_;  ///< begin -> end, why
  std::vector<tracking::MemoryEvent> events_;
  struct Version {
    std::uintptr_t end = 0;
    std::uint64_t write = 0;
  };
  void set_version(platform::Span span);
  std::uint64_t version_at(std::uintptr_t address) const;
  std::map<std::uintptr_t, Version> versions_;  ///< begin -> number of the latest write; they do not overlap
  std::uint64_t writes_ = 0;
};

}  // namespace blastoff::prediction
