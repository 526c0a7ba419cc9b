#include "device/cuda/cusolver/workspace.h"

#include <utility>

#include <fmt/format.h>

namespace blastoff::device::cuda {

SolverWorkspace::~SolverWorkspace() {
  for (Block& block : blocks_) free(block);
}

void SolverWorkspace::begin() {
  for (Block& block : blocks_) block.used = false;
}

Result<Address> SolverWorkspace::device(Purpose purpose, std::size_t bytes) {
  Block& block = blocks_[static_cast<std::size_t>(purpose)];
  block.used = true;
  if (bytes <= block.bytes && block.address != 0) return block.address;
  free(block);
  Status allocated = allocate(block, bytes);
  if (!allocated && allocated.error().kind == ErrorKind::out_of_memory) {
    for (Block& other : blocks_)
      if (!other.used) free(other);
    allocated = allocate(block, bytes);
  }
  if (!allocated) return tl::unexpected(allocated.error());
  return block.address;
}

Result<void*> SolverWorkspace::host(HostPurpose purpose, std::size_t bytes) {
  PageMemory& block = host_blocks_[static_cast<std::size_t>(purpose)];
  if (bytes > block.bytes() || block.address() == nullptr) {
    block = PageMemory();
    block = PageMemory(bytes);
  }
  if (block.address() != nullptr) return block.address();
  return tl::unexpected(Error{ErrorKind::out_of_memory, fmt::format("no {} bytes of host memory for cuSOLVER", bytes)});
}

void SolverWorkspace::free(Block& block) {
  memory_->free(std::exchange(block.address, 0));
  block.bytes = 0;
}

Status SolverWorkspace::allocate(Block& block, std::size_t bytes) {
  if (bytes == 0) bytes = 1;
  const auto allocated = memory_->allocate(MemoryClient::workspaces, bytes);
  if (!allocated) return tl::unexpected(allocated.error());
  block.address = *allocated;
  block.bytes = bytes;
  return {};
}

}  // namespace blastoff::device::cuda
