// The kernel's answer to which pages have been written, for pages under asynchronous write protection.
#pragma once

#include <cstddef>
#include <vector>

#include "platform/pagemap.h"
#include "tracking/page_tracker.h"

namespace blastoff::tracking {

using platform::PagemapFile;
using platform::Span;

/// Appends to the runs from `first_own` on; `protect` protects what it finds. An absent page counts as written, unless
/// it is among pages that were `given_up`. False: the span is not tracked, and the own runs have gone.
bool written_pages(PagemapFile& file, Span span, bool protect, bool given_up, std::size_t first_own,
                   std::vector<Span>& written);

}  // namespace blastoff::tracking
