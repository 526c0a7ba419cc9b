// Host memory that the GPU copies to and from.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace blastoff::device::gpu {

/// Fills whole pages. The driver refuses a copy that begins in a page-locked page and ends in another one, as happens
/// if a matrix lies in the first page, too.
class PageMemory {
 public:
  PageMemory() = default;
  explicit PageMemory(std::size_t bytes)
      : bytes_((bytes / page + 1) * page), memory_(std::aligned_alloc(page, bytes_)) {}

  /// nullptr if there was no memory.
  void* address() const { return memory_.get(); }
  std::size_t bytes() const { return memory_ == nullptr ? 0 : bytes_; }

 private:
  static constexpr std::size_t page = 4096;

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::size_t bytes_ = 0;
  std::unique_ptr<void, Free> memory_;
};

}  // namespace blastoff::device::gpu
