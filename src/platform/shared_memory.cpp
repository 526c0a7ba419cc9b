#include "platform/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

namespace blastoff::platform {
namespace {

/// A file that grows over this limit ends the process by a signal.
bool may_be_made(std::size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

}  // namespace

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  descriptor_ = std::move(other.descriptor_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

// A forked child has no use for it, and a core dump neither.
bool SharedMemory::map(int descriptor, std::size_t bytes) {
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (address == MAP_FAILED) return false;
  madvise(address, bytes, MADV_DONTFORK);
  madvise(address, bytes, MADV_DONTDUMP);
  madvise(address, bytes, MADV_HUGEPAGE);
  address_ = static_cast<std::byte*>(address);
  bytes_ = bytes;
  return true;
}

SharedMemory SharedMemory::make(std::size_t bytes) {
  SharedMemory memory;
  if (!may_be_made(bytes)) return memory;
  Descriptor file = out_of_the_way(Descriptor(memfd_create("blastoff-shared", MFD_CLOEXEC)));
  if (!file || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 || !memory.map(file.get(), bytes)) return memory;
  memory.descriptor_ = GuardedDescriptor(std::move(file));
  return memory;
}

SharedMemory SharedMemory::join(std::uint64_t pid, int descriptor, std::size_t bytes) {
  SharedMemory memory;
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%llu/fd/%d", static_cast<unsigned long long>(pid), descriptor);
  const Descriptor file(open(path.data(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  const bool fits = file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                    static_cast<std::size_t>(status.st_size) == bytes;
  if (fits) memory.map(file.get(), bytes);
  return memory;
}

}  // namespace blastoff::platform
