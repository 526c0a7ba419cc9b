#include "platform/process_mark.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace blastoff::platform {
namespace {

std::atomic<int>* set_mark() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, bytes);
    return nullptr;
  }
  return new (page) std::atomic<int>(1);
}

}  // namespace

ProcessMark::ProcessMark() : process_(getpid()), mark_(set_mark()) {}

ProcessMark::Bearer ProcessMark::bearer() const {
  if (mark_ != nullptr && mark_->load(std::memory_order_relaxed) == 0) return Bearer::child;
  if (getpid() == process_) return Bearer::marked;
  return mark_ != nullptr ? Bearer::guest : Bearer::child;
}

}  // namespace blastoff::platform
