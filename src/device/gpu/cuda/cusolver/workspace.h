// Memory that an operation of a solver needs besides the operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <fmt/format.h>

#include "device/gpu/memory.h"
#include "device/gpu/page_memory.h"

namespace blastoff::device::gpu::cuda {

/// Each executor has one. Device memory belongs to it during an operation, and to the device's pool of workspaces
/// between operations; host memory is kept.
class SolverWorkspace {
 public:
  /// The use of device memory; each purpose has its own memory.
  enum class Purpose : std::uint8_t { checks, vector, matrix, second_matrix, third_matrix, fourth_matrix, library };

  enum class HostPurpose : std::uint8_t { library, transfers };

  SolverWorkspace(std::shared_ptr<Memory> memory, StreamHandle stream) : memory_(std::move(memory)), stream_(stream) {}

  /// The operation is over, and nothing of it runs any more.
  void release() {
    for (PooledMemory& each : device_) each = {};
  }

  /// Device memory of at least `bytes`, with undefined contents. Ends the use of memory that this operation was given
  /// for the same purpose before. ErrorKind::out_of_memory if there is none, even after all unused memory has been
  /// freed.
  Result<Address> device(Purpose purpose, std::size_t bytes) {
    PooledMemory& memory = device_[static_cast<std::size_t>(purpose)];
    return memory_->grow(memory, bytes, stream_).map([&] { return memory.address(); });
  }

  /// The same in host memory.
  Result<void*> host(HostPurpose purpose, std::size_t bytes) {
    PageMemory& memory = host_[static_cast<std::size_t>(purpose)];
    if (bytes > memory.bytes() || memory.address() == nullptr) {
      memory = PageMemory();
      memory = PageMemory(bytes);
    }
    if (memory.address() != nullptr) return memory.address();
    return tl::unexpected(
        Error{ErrorKind::out_of_memory, fmt::format("no {} bytes of host memory for cuSOLVER", bytes)});
  }

 private:
  const std::shared_ptr<Memory> memory_;
  const StreamHandle stream_;
  std::array<PooledMemory, 7> device_;
  std::array<PageMemory, 2> host_{};
};

}  // namespace blastoff::device::gpu::cuda
