// Which results have stayed on devices: for the message when a device is lost with the only copies of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "platform/span.h"

namespace blastoff::ledger {

using platform::Span;

/// A matrix that a call has computed.
struct LeftResult {
  Span bounds;                    ///< from its first byte to its last
  const char* routine = nullptr;  ///< a constant
  std::int64_t rows = 0, columns = 0;
};

/// Knows the latest ones alone. Thread-safe; note() allocates nothing.
class LeftResults {
 public:
  static constexpr std::size_t capacity = 64;

  void note(const LeftResult& result);

  /// What of the window is to be brought for one of its pages: nothing of other results, which may still be computed,
  /// and only the page if a result begins or ends within it, since it may hold what the allocator reads to free that.
  Span part_for(Span page, Span window) const;

  /// Names those that have bytes of the runs, the latest first, and gives the addresses of other runs:
  /// "192 x 192 of dgemm at 0x7f0000000000 (295 kB)".
  std::string names(const std::vector<Span>& runs) const;

 private:
  mutable std::mutex mutex_;
  std::array<LeftResult, capacity> results_{};
  std::size_t noted_ = 0;
};

}  // namespace blastoff::ledger
