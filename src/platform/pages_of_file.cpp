#include "platform/pages_of_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace blastoff::platform {

PagesOfFile::PagesOfFile(Span memory, FileNumber file) : pages_(outward_to_pages(memory)) {
  if (memory.empty()) return;
  Mappings mappings;
  const auto mapping = mappings.covering(memory.begin);
  if (!mapping || !mapping->span.contains(pages_) || file == FileNumber{} || mapping->file != file) return;
  const auto pagemap = Pagemap::open();
  std::vector<PagemapEntry> entries(pages_.bytes() / page_size());
  if (pagemap && pagemap->read(pages_, entries.data())) entries_ = std::move(entries);
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
