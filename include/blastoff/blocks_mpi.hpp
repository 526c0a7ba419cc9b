// Blocks and MPI in C++ (C++17): the functions of blastoff_blocks_mpi.h, which says what each of them does. Errors are
// exceptions of type blastoff::Error, as in blastoff/blocks.hpp.
//
//   blastoff::send(block, 1, tag, MPI_COMM_WORLD);        // of rank 0
//   blastoff::receive(block, 0, 0, tag, MPI_COMM_WORLD);  // of rank 1, to its first device
//
//   blastoff::Window window({bytes, bytes}, MPI_COMM_WORLD);  // two slots on each rank
//   window.put(block, rank, 0);
//   window.fence();
//   window.get(other, place, rank, 1);
#pragma once

#include <utility>
#include <vector>

#include "../blastoff_blocks_mpi.h"
#include "blocks.hpp"

namespace blastoff {

/// Whether messages go from and to the memory of devices.
inline bool direct_messages() {
  return blastoff_mpi_direct() != 0;
}

inline void send(const Block& block, int destination, int tag, MPI_Comm comm) {
  check(blastoff_block_send(block.handle(), destination, tag, comm));
}

inline void receive(Block& block, int place, int source, int tag, MPI_Comm comm) {
  check(blastoff_block_receive(block.handle(), place, source, tag, comm));
}

inline void bcast(Block& block, int place, int root, MPI_Comm comm) {
  check(blastoff_block_bcast(block.handle(), place, root, comm));
}

/// Slots for blocks in all processes. Making and ending one is collective; it has to end before MPI_Finalize(), by
/// destroy() or its destructor.
class Window {
 public:
  Window() = default;
  /// `bytes`: of each slot of this process.
  Window(const std::vector<std::size_t>& bytes, MPI_Comm comm) {
    check(blastoff_window_create(bytes.data(), static_cast<int>(bytes.size()), comm, &window_));
  }
  Window(Window&& other) noexcept : window_(std::exchange(other.window_, nullptr)) {}
  Window& operator=(Window&& other) noexcept {
    std::swap(window_, other.window_);
    return *this;
  }
  ~Window() { (void)blastoff_window_destroy(window_); }

  void put(const Block& block, int rank, int slot) { check(blastoff_block_put(block.handle(), window_, rank, slot)); }
  void get(Block& block, int place, int rank, int slot) {
    check(blastoff_block_get(block.handle(), place, window_, rank, slot));
  }
  /// Collective: what was put before is what everybody gets afterwards.
  void fence() { check(blastoff_window_fence(window_)); }
  /// Ends it now, and reports errors.
  void destroy() { check(blastoff_window_destroy(std::exchange(window_, nullptr))); }

  blastoff_window* handle() const { return window_; }

 private:
  blastoff_window* window_ = nullptr;
};

}  // namespace blastoff
