// Of which bytes does the device hold what host memory holds? A page is current as a whole, or for the bytes that were
// used alone (UsedBytes), or not at all.
#pragma once

#include <vector>

#include "operation/operand.h"
#include "platform/span.h"
#include "residency/mirror/mirror_memory.h"

namespace blastoff::residency::mirror {

/// Answers whether bytes of one operand are current; never, where the operand is not `tracked`.
class Currency {
 public:
  Currency(const operation::Operand& operand, bool tracked) : operand_(operand), tracked_(tracked) {}

  /// Of its bytes on some pages of the chunk, as far as a few operations tell: the pages are current as a whole, or the
  /// operand was remembered in the chunk or is a part of one that was.
  bool known(const Chunk& chunk, platform::Span pages) {
    const PageNumbers numbers = page_numbers(pages);
    return tracked_ && chunk.current.all(numbers.first, numbers.last) &&
           (!chunk.partial.any(numbers.first, numbers.last) || remembered(chunk));
  }
  bool known(const Chunk& chunk, const PageBitmap& pages) {
    return tracked_ && chunk.current.all(pages) && (!chunk.partial.any(pages) || remembered(chunk));
  }

  /// Of its bytes on one page of the chunk.
  bool on_page(const Chunk& chunk, platform::Span page) const;

  bool tracked() const { return tracked_; }
  const operation::Operand& operand() const { return operand_; }

 private:
  // Columns on pages of their own ask about the same chunk many times over. What the operand itself brings to the
  // device in between changes nothing about the answer.
  bool remembered(const Chunk& chunk) {
    if (chunk_ != &chunk) remembered_ = chunk.used->remembers(operand_);
    chunk_ = &chunk;
    return remembered_;
  }

  const operation::Operand& operand_;
  const bool tracked_;
  const Chunk* chunk_ = nullptr;
  bool remembered_ = false;
};

/// The operand's bytes on one page of the chunk are current from now on, and what was current of the page before.
void make_current(MirrorMemory& mirrors, Chunk& chunk, platform::Span page, const operation::Operand& operand);

/// All bytes of `pages` are current from now on.
void make_wholly_current(Chunk& chunk, platform::Span pages);

/// Chunks in which one operand's bytes have been looked at one by one; remembers the operand in them at the end, which
/// spares the next use that look. To be ended when all of the operand's bytes on pages that are current are current.
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
