// Memory for the platform tests: anonymous mappings that are unmapped at the end of the test.
#pragma once

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "platform/span.h"

namespace blastoff::test {

class Memory {
 public:
  explicit Memory(std::size_t pages, int flags = 0) : bytes_(pages * platform::page_size()) {
    address_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (address_ == MAP_FAILED) throw std::runtime_error("mmap");
  }
  ~Memory() { munmap(address_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* page(std::size_t index) const { return static_cast<char*>(address_) + index * platform::page_size(); }
  platform::Span span() const { return pages(0, bytes_ / platform::page_size()); }
  platform::Span pages(std::size_t first, std::size_t count) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(page(first));
    return {begin, begin + count * platform::page_size()};
  }
  void touch() const {
    for (std::size_t i = 0; i < bytes_; i += platform::page_size()) static_cast<volatile char*>(address_)[i] = 1;
  }

 private:
  void* address_;
  std::size_t bytes_;
};

/// Page faults of other threads during a clear make the soft-dirty tracker report all pages. Our own threads have their
/// page faults when they start.
inline void let_threads_settle() {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

}  // namespace blastoff::test
