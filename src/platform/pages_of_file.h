// Which pages of a private mapping of a file still hold what the file holds.
#pragma once

#include <vector>

#include "platform/mappings.h"
#include "platform/pagemap.h"
#include "platform/span.h"

namespace blastoff::platform {

/// The pages of which this process has no copies of its own. The kernel is asked, and the pages are not touched: as
/// long as a page is absent, a write to it interrupts no other CPU.
class PagesOfFile {
 public:
  /// `memory`: in one mapping of the file; otherwise nothing is known.
  PagesOfFile(Span memory, FileNumber file);

  /// Whether all bytes of the span are those of the file. False if the kernel does not tell.
  bool hold(Span part) const;

 private:
  Span pages_;
  std::vector<PagemapEntry> entries_;  ///< one for each page; empty: not known
};

}  // namespace blastoff::platform
