#include "tracking/soft_dirty/pagemap.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace blastoff::platform {

tl::expected<Pagemap, std::string> Pagemap::open() {
  Descriptor file(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!file) return tl::unexpected(std::string("/proc/self/pagemap: ") + std::strerror(errno));
  return Pagemap(out_of_the_way(std::move(file)));
}

bool Pagemap::read(Span pages, PagemapEntry* entries) const {
  auto* to = reinterpret_cast<char*>(entries);
  std::size_t left = pages.bytes() / page_size() * sizeof(PagemapEntry);
  auto offset = static_cast<off_t>(pages.begin / page_size() * sizeof(PagemapEntry));
  while (left > 0) {
    const ssize_t bytes = pread(file_.get(), to, left, offset);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    to += bytes;
    offset += bytes;
    left -= static_cast<std::size_t>(bytes);
  }
  return true;
}

}  // namespace blastoff::platform
