// Memory that a solver works with beside the operands. It is kept for the next operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/cuda/cusolver/page_memory.h"
#include "device/cuda/memory.h"

namespace blastoff::device::cuda {

/// One for each executor; on account of the device's workspaces.
class SolverWorkspace {
 public:
  /// What device memory is for; each purpose has its own.
  enum class Purpose : std::uint8_t { checks, vector, matrix, second_matrix, third_matrix, library };

  enum class HostPurpose : std::uint8_t { library, transfers };

  explicit SolverWorkspace(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
  ~SolverWorkspace();
  SolverWorkspace(const SolverWorkspace&) = delete;
  SolverWorkspace& operator=(const SolverWorkspace&) = delete;

  /// A new operation: nothing that was given out before is used any more.
  void begin();

  /// Device memory of at least `bytes`, its contents undefined; what the same purpose was given before in this
  /// operation is void. ErrorKind::out_of_memory if there is none, even after all that is unused has been freed.
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
