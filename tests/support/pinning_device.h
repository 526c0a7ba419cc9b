// A device that can pin: like a GPU's DMA engine, it copies into pinned memory without the CPU's page table, so that
// page tracking does not see these copies. The kernel's registered buffers (io_uring) work in the same way: the kernel
// reads and writes the pages that it found when the buffer was registered, through its own addresses.
#pragma once

#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "forwarding_device.h"

namespace blastoff::test {

/// One span of host memory that the kernel reads and writes without using the process's page table.
class RegisteredBuffer {
 public:
  static std::unique_ptr<RegisteredBuffer> create(void* address, std::size_t bytes) {
    std::unique_ptr<RegisteredBuffer> buffer(new RegisteredBuffer);
    return buffer->open(address, bytes) ? std::move(buffer) : nullptr;
  }
  ~RegisteredBuffer() {
    if (ring_ >= 0) {
      syscall(SYS_io_uring_register, ring_, IORING_UNREGISTER_BUFFERS, nullptr, 0);
      close(ring_);
    }
    if (file_ >= 0) close(file_);
    if (queue_ != nullptr) munmap(queue_, queue_bytes_);
    if (entries_ != nullptr) munmap(entries_, sizeof(io_uring_sqe));
  }
  RegisteredBuffer(const RegisteredBuffer&) = delete;
  RegisteredBuffer& operator=(const RegisteredBuffer&) = delete;

  /// Writes host memory within the buffer. One call at a time.
  bool write(void* destination, const void* source, std::size_t bytes) {
    return pwrite(file_, source, bytes, 0) == static_cast<ssize_t>(bytes) &&
           run(IORING_OP_READ_FIXED, destination, bytes);
  }
  /// Reads host memory within the buffer. One call at a time.
  bool read(void* destination, const void* source, std::size_t bytes) {
    std::vector<char> found(bytes);
    if (!run(IORING_OP_WRITE_FIXED, source, bytes) ||
        pread(file_, found.data(), bytes, 0) != static_cast<ssize_t>(bytes))
      return false;
    // An upload may write what is there already, while a call reads it. That is no race on a device, so no byte is
    // written here that does not change.
    auto* const there = static_cast<char*>(destination);
    for (std::size_t i = 0; i < bytes; ++i)
      if (there[i] != found[i]) there[i] = found[i];
    return true;
  }

 private:
  RegisteredBuffer() = default;

  /// Copies between the file and the buffer.
  bool run(std::uint8_t operation, const void* address, std::size_t bytes) {
    *entries_ = {};
    entries_->opcode = operation;
    entries_->fd = file_;
    entries_->addr = reinterpret_cast<std::uint64_t>(address);
    entries_->len = static_cast<std::uint32_t>(bytes);
    at(parameters_.sq_off.array) = 0;
    std::atomic_ref(at(parameters_.sq_off.tail)).fetch_add(1, std::memory_order_release);
    if (syscall(SYS_io_uring_enter, ring_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) != 1) return false;
    std::atomic_ref head(at(parameters_.cq_off.head));
    const std::uint32_t slot = head.load() & at(parameters_.cq_off.ring_mask);
    const auto* done = reinterpret_cast<io_uring_cqe*>(queue_ + parameters_.cq_off.cqes) + slot;
    const bool complete = done->res == static_cast<std::int32_t>(bytes);
    head.fetch_add(1, std::memory_order_release);
    return complete;
  }

  std::uint32_t& at(std::uint32_t offset) { return *reinterpret_cast<std::uint32_t*>(queue_ + offset); }

  bool open(void* address, std::size_t bytes) {
    ring_ = static_cast<int>(syscall(SYS_io_uring_setup, 1, &parameters_));
    file_ = memfd_create("pinned", MFD_CLOEXEC);
    if (ring_ < 0 || file_ < 0) return false;
    queue_bytes_ = std::max<std::size_t>(parameters_.sq_off.array + sizeof(std::uint32_t),
                                         parameters_.cq_off.cqes + parameters_.cq_entries * sizeof(io_uring_cqe));
    void* queue = mmap(nullptr, queue_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, ring_, IORING_OFF_SQ_RING);
    void* entries = mmap(nullptr, sizeof(io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring_, IORING_OFF_SQES);
    if (queue == MAP_FAILED || entries == MAP_FAILED) return false;
    queue_ = static_cast<char*>(queue);
    entries_ = static_cast<io_uring_sqe*>(entries);
    const iovec buffer{address, bytes};
    return syscall(SYS_io_uring_register, ring_, IORING_REGISTER_BUFFERS, &buffer, 1) == 0;
  }

  io_uring_params parameters_{};
  int ring_ = -1;
  int file_ = -1;
  char* queue_ = nullptr;
  std::size_t queue_bytes_ = 0;
  io_uring_sqe* entries_ = nullptr;
};

/// The pins, which a pinning device shares with its queues.
class Pinned {
 public:
  /// Refuses to lock memory twice, as a driver does.
  bool add(void* address, std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto begin = reinterpret_cast<std::uintptr_t>(address);
      const auto next = buffers_.lower_bound(begin + bytes);
      const bool overlaps = next != buffers_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > begin;
      EXPECT_FALSE(overlaps) << bytes << " bytes at " << address << " are pinned twice";
    }
    auto buffer = RegisteredBuffer::create(address, bytes);
    if (!buffer) return false;
    const std::lock_guard lock(mutex_);
    buffers_[reinterpret_cast<std::uintptr_t>(address)] = {bytes, std::move(buffer)};
    return true;
  }
  void remove(void* address, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == buffers_.end() || found->second.bytes != bytes) {
      ADD_FAILURE() << "unpin of " << bytes << " bytes at " << address << ", which is no pin";
      return;
    }
    buffers_.erase(found);
  }
  /// Returns false if the bytes do not lie within one pin.
  bool write(void* destination, const void* source, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    RegisteredBuffer* const buffer = around(destination, bytes);
    if (buffer == nullptr) return false;
    ++writes_;
    EXPECT_TRUE(buffer->write(destination, source, bytes));
    return true;
  }
  bool read(void* destination, const void* source, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    RegisteredBuffer* const buffer = around(source, bytes);
    if (buffer == nullptr) return false;
    ++reads_;
    EXPECT_TRUE(buffer->read(destination, source, bytes));
    return true;
  }
  std::uint64_t writes() {
    const std::lock_guard lock(mutex_);
    return writes_;
  }
  std::uint64_t reads() {
    const std::lock_guard lock(mutex_);
    return reads_;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return buffers_.size();
  }
  /// From now on nothing may be pinned (Device::may_pin()).
  void forbid() { allowed_ = false; }
  bool allowed() const { return allowed_; }

 private:
  struct Entry {
    std::size_t bytes;
    std::unique_ptr<RegisteredBuffer> buffer;
  };
  RegisteredBuffer* around(const void* address, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    auto found = buffers_.upper_bound(begin);
    if (found == buffers_.begin()) return nullptr;
    --found;
    return begin + bytes <= found->first + found->second.bytes ? found->second.buffer.get() : nullptr;
  }

  std::mutex mutex_;
  std::map<std::uintptr_t, Entry> buffers_;
  std::uint64_t writes_ = 0;
  std::uint64_t reads_ = 0;
  std::atomic<bool> allowed_{true};
};

/// Whether this kernel allows io_uring with registered buffers.
bool can_pin();

/// `pinned`: the pins of all pinning devices of the process, as a driver's registrations hold for all its devices.
std::unique_ptr<device::Device> pinning(std::unique_ptr<device::Device> simulated, std::shared_ptr<Pinned> pinned);

}  // namespace blastoff::test
