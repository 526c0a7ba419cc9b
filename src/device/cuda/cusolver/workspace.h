// Memory that a solver needs besides the operands. It is kept for the next operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/cuda/cusolver/page_memory.h"
#include "device/cuda/memory.h"

namespace blastoff::device::cuda {

/// Each executor has one. It is charged to the device's workspaces.
class SolverWorkspace {
 public:
  /// The use of device memory; each purpose has its own memory.
  enum class Purpose : std::uint8_t { checks, vector, matrix, second_matrix, third_matrix, library };

  enum class HostPurpose : std::uint8_t { library, transfers };

  explicit SolverWorkspace(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~SolverWorkspace();
  SolverWorkspace(const SolverWorkspace&) = delete;
  SolverWorkspace& operator=(const SolverWorkspace&) = delete;

  /// Begins a new operation: memory that was given out before is not used any more.
  void begin();

  /// Device memory of at least `bytes`, with undefined contents. Ends the use of memory that this operation was given
  /// for the same purpose before. ErrorKind::out_of_memory if there is none, even after all unused memory has been
  /// freed.
  Result<Address> device(Purpose purpose, std::size_t bytes);

  /// The same in host memory.
  Result<void*> host(HostPurpose purpose, std::size_t bytes);

 private:
  struct Block {
    Address address = 0;
    std::size_t bytes = 0;
    bool used = false;
  };

  void free(Block& block);
  Status allocate(Block& block, std::size_t bytes);

  const std::shared_ptr<Memory> memory_;
  std::array<Block, 6> blocks_{};
  std::array<PageMemory, 2> host_blocks_{};
};

}  // namespace blastoff::device::cuda
