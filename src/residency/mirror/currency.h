// Of which bytes does the device hold what host memory holds? A page is current as a whole, or for the bytes that were
// used alone (UsedBytes), or not at all.
#pragma once

#include <vector>

#include "blas/operand.h"
#include "platform/span.h"
#include "residency/mirror/shadow_memory.h"

namespace blastoff::residency::mirror {

/// Whether the operand's bytes on `pages` of the chunk are current, as far as a few operations tell: the pages are
/// current as a whole, or the operand was remembered here or is a part of one that was.
bool is_known_current(const Chunk& chunk, platform::Span pages, const blas::Operand& operand);
bool is_known_current(const Chunk& chunk, const PageBitmap& pages, const blas::Operand& operand);

/// Whether the operand's bytes on one page of the chunk are current.
bool is_current(const Chunk& chunk, platform::Span page, const blas::Operand& operand);

/// The operand's bytes on one page of the chunk are current from now on, and what was current of the page before.
void make_current(ShadowMemory& shadow, Chunk& chunk, platform::Span page, const blas::Operand& operand);

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
  void end(const blas::Operand& operand);

 private:
  std::vector<Chunk*> chunks_;
};

}  // namespace blastoff::residency::mirror
