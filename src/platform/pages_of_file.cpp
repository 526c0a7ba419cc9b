#include "platform/pages_of_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "platform/descriptor.h"

namespace blastoff::platform {

PagesOfFile::PagesOfFile(Span memory, FileNumber file) : pages_(outward_to_pages(memory)) {
  if (memory.empty()) return;
  Mappings mappings;
  const auto mapping = mappings.covering(memory.begin);
  if (!mapping || !mapping->span.contains(pages_) || file == FileNumber{} || mapping->file != file) return;
  // (A Pagemap lasts, so its descriptor is moved out of the way. Beside threads, that takes ten milliseconds.)
  const Descriptor pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::vector<PagemapEntry> entries(pages_.bytes() / page_size());
  if (pagemap && read_pagemap(pagemap.get(), pages_, entries.data())) entries_ = std::move(entries);
}

bool PagesOfFile::hold(Span part) const {
  if (entries_.empty() || !pages_.contains(part)) return false;
  const Span pages = outward_to_pages(part);
  const auto first = entries_.begin() + static_cast<std::ptrdiff_t>((pages.begin - pages_.begin) / page_size());
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(pages.bytes() / page_size()), [](PagemapEntry entry) {
    const bool absent = !entry.present() && !entry.swapped();
    return absent || entry.of_file();
  });
}

}  // namespace blastoff::platform
