// For which bytes does the device hold what host memory holds? A page is current as a whole, or only for the bytes that
// were used (ledger::UsedBytes), or not at all.
#pragma once

#include <vector>

#include "operation/operand.h"
#include "platform/span.h"
#include "residency/mirror/mirror_memory.h"

namespace blastoff::residency::mirror {

/// Tells whether bytes of one operand are current. An operand that is not `tracked` never is.
class Validity {
 public:
  Validity(const operation::Operand& operand, bool tracked) : operand_(operand), tracked_(tracked) {}

  /// Whether the operand's bytes on some pages of the chunk are current, as far as a few operations tell: the pages are
  /// current as a whole, or the chunk remembers the operand or one that contains it.
  bool known(const Chunk& chunk, platform::Span pages) {
    const PageNumbers numbers = page_numbers(pages);
    return tracked_ && chunk.copy->current.all(numbers.first, numbers.last) &&
           (!chunk.copy->partial.any(numbers.first, numbers.last) || remembered(chunk));
  }
  bool known(const Chunk& chunk, const PageBitmap& pages) {
    return tracked_ && chunk.copy->current.all(pages) && (!chunk.copy->partial.any(pages) || remembered(chunk));
  }

  /// Whether the operand's bytes on one page of the chunk are current.
  bool on_page(const ledger::Copy& copy, platform::Span page) const;

  bool tracked() const { return tracked_; }
  const operation::Operand& operand() const { return operand_; }

 private:
  // Columns on separate pages ask about the same chunk many times. Uploads for the operand itself do not change the
  // answer in between.
  bool remembered(const Chunk& chunk) {
    if (chunk_ != &chunk) remembered_ = chunk.known->remembers(operand_);
    chunk_ = &chunk;
    return remembered_;
  }

  const operation::Operand& operand_;
  const bool tracked_;
  const Chunk* chunk_ = nullptr;
  bool remembered_ = false;
};

/// Makes the operand's bytes on one page of the chunk current. Other bytes of the page that were current stay so. Under
/// the copy's lock, as the next one.
void make_current(Chunk& chunk, platform::Span page, const operation::Operand& operand);

/// Makes all bytes of `pages` current.
void make_wholly_current(ledger::Copy& copy, platform::Span pages);

/// Collects the chunks in which one operand's bytes were examined one by one. end() makes them remember the operand,
/// which saves this work at the next use. Call end() when all bytes of the operand that lie on current pages are
/// current.
class Examined {
 public:
  void begin() { chunks_.clear(); }
  void add(Chunk& chunk) {
    if (chunks_.empty() || chunks_.back() != &chunk) chunks_.push_back(&chunk);
  }
  void end(const operation::Operand& operand);

 private:
  std::vector<Chunk*> chunks_;
};

}  // namespace blastoff::residency::mirror
