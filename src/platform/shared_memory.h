// Memory that processes of one host share. It has no name in any file system, and ends with its last process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "platform/descriptor.h"

namespace blastoff::platform {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  /// Makes memory of zeros. Pages take memory when they are touched. Empty if that is not possible.
  static SharedMemory make(std::size_t bytes);
  /// Maps the memory that another process of the same user and of the same namespace has made, and that it offers under
  /// this number of a descriptor. Empty if there is none of this size.
  static SharedMemory join(std::uint64_t pid, int descriptor, std::size_t bytes);

  /// The descriptor under which others may join, until withdraw(); -1: none.
  int offered() const { return descriptor_.get(); }
  void withdraw() { descriptor_ = {}; }

  explicit operator bool() const { return address_ != nullptr; }
  std::byte* data() const { return address_; }
  std::size_t size() const { return bytes_; }

 private:
  bool map(int descriptor, std::size_t bytes);

  GuardedDescriptor descriptor_;
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace blastoff::platform
