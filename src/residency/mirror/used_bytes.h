// Which bytes of a page are current, where not all of them are.
//
// A device that was set to write host memory before the page was last protected may still do so later, and leaves no
// trace then. No correct program lets it write what a call uses, but it may well write the neighbouring bytes of the
// same page. So a page that was brought to the device for one operand is current for the bytes of that operand alone.
// The next operand that needs others of its bytes has it brought again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "operation/operand.h"
#include "platform/span.h"
#include "residency/mirror/page_bitmap.h"

namespace blastoff::residency::mirror {

/// Those of one chunk. What it says about a page counts only while the page is current, and only in part.
class UsedBytes {
 public:
  /// Spans are host addresses within the chunk.
  bool all(platform::Span span) const { return words_.all(number(span.begin), number(span.end - 1) + 1); }
  void clear(platform::Span span) { words_.clear(number(span.begin), number(span.end - 1) + 1); }
  /// Words of which the span holds only a part stay what they are.
  void set(platform::Span span) {
    const std::size_t first = span.begin % chunk_bytes;
    const std::size_t begin = (first + word_bytes - 1) / word_bytes;
    const std::size_t end = (first + span.bytes()) / word_bytes;
    if (begin < end) words_.set(begin, end);
  }

  /// Whether the operand lies within one that was remembered: then all of its bytes on current pages are used.
  bool remembers(const operation::Operand& operand) const;
  void remember(const operation::Operand& operand);
  /// A page gets current for the operand's bytes alone: forgets the operands that may have others on it.
  void forget_all_but(const operation::Operand& operand);

 private:
  static constexpr std::size_t word_bytes = 4;
  static constexpr std::size_t words = chunk_bytes / word_bytes;
  void forget_within(const operation::Operand& operand);
  static std::size_t number(std::uintptr_t address) { return address % chunk_bytes / word_bytes; }

  Bitmap<words> words_;
  std::array<operation::Operand, 16> remembered_;  ///< the latest first
  std::size_t count_ = 0;
};

}  // namespace blastoff::residency::mirror
