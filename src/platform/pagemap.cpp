#include "platform/pagemap.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "platform/failure.h"

namespace blastoff::platform {

tl::expected<std::unique_ptr<PagemapFile>, std::string> PagemapFile::open() {
  auto file = std::make_unique<PagemapFile>();
  if (file->reopen() >= 0) return file;
  const int error = errno;
  const bool hidden = error == ENOENT && access("/proc/self", F_OK) != 0;
  return tl::unexpected(failure("/proc/self/pagemap:", error) + (hidden ? " (/proc is not mounted here)" : ""));
}

int PagemapFile::get() {
  const int number = file_.load(std::memory_order_acquire)->get();
  return number >= 0 ? number : reopen();
}

int PagemapFile::reopen() {
  const std::lock_guard lock(mutex_);
  if (const GuardedDescriptor* file = file_.load(std::memory_order_relaxed); file != nullptr && file->get() >= 0)
    return file->get();  // another thread was faster
  Descriptor file(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!file) return -1;
  files_.push_back(std::make_unique<GuardedDescriptor>(out_of_the_way(std::move(file))));
  file_.store(files_.back().get(), std::memory_order_release);
  return files_.back()->get();
}

tl::expected<Pagemap, std::string> Pagemap::open() {
  auto file = PagemapFile::open();
  if (!file) return tl::unexpected(file.error());
  return Pagemap(std::move(*file));
}

bool read_pagemap(int pagemap, Span pages, PagemapEntry* entries) {
  auto* to = reinterpret_cast<char*>(entries);
  std::size_t left = pages.bytes() / page_size() * sizeof(PagemapEntry);
  auto offset = static_cast<off_t>(pages.begin / page_size() * sizeof(PagemapEntry));
  while (left > 0) {
    const ssize_t bytes = pread(pagemap, to, left, offset);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    to += bytes;
    offset += bytes;
    left -= static_cast<std::size_t>(bytes);
  }
  return true;
}

}  // namespace blastoff::platform
