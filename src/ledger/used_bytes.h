// Which bytes of a page are current if not all of them are.
//
// A device that was set up to write host memory before the page was last protected may still do so later, unseen. No
// correct program lets it write what a call uses, but it may write neighbouring bytes of the same page. So a page that
// was uploaded for one matrix is current for the bytes of that matrix alone. If the next one needs other bytes, the
// page is uploaded again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger/page_bitmap.h"
#include "platform/span.h"

namespace blastoff::ledger {

/// The used bytes of one chunk. What it says about a page counts only while the page is current, and only in part.
class UsedBytes {
 public:
  /// Spans are host addresses within the chunk.
  bool all(platform::Span span) const { return words_.all(number(span.begin), number(span.end - 1) + 1); }
  void clear(platform::Span span) { words_.clear(number(span.begin), number(span.end - 1) + 1); }
  /// Words that the span covers only in part stay as they are.
  void set(platform::Span span) {
    const std::size_t first = span.begin % chunk_bytes;
    const std::size_t begin = (first + word_bytes - 1) / word_bytes;
    const std::size_t end = (first + span.bytes()) / word_bytes;
    if (begin < end) words_.set(begin, end);
  }

 private:
  static constexpr std::size_t word_bytes = 4;
  static constexpr std::size_t words = chunk_bytes / word_bytes;
  static std::size_t number(std::uintptr_t address) { return address % chunk_bytes / word_bytes; }

  Bitmap<words> words_{};
};

}  // namespace blastoff::ledger
