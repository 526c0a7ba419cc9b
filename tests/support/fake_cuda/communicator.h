// The communicator of the fake NCCL: processes meet in a shared file. The fake cuSOLVERMp and cuBLASMp compute whole
// matrices there.
#pragma once

#include <atomic>
#include <complex>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <unistd.h>

#include "device/gpu/cuda/team/api.h"
#include "fake_cuda/blas.h"
#include "fake_cuda/gpu.h"

namespace blastoff::fake_cuda {

using device::gpu::cuda::api::Size;

struct Meeting {
  std::atomic<int> arrived{0};
  std::atomic<int> turn{0};
  std::atomic<int> info{0};
};
constexpr std::size_t arena_offset = 4096;
constexpr std::size_t meeting_bytes = std::size_t{256} << 20;

}  // namespace blastoff::fake_cuda

namespace blastoff::device::gpu::cuda::api {

struct NcclCommunicator {
  int rank = 0;
  int ranks = 1;
  char* memory = nullptr;
  std::atomic<bool> aborted{false};

  fake_cuda::Meeting& meeting() const { return *reinterpret_cast<fake_cuda::Meeting*>(memory); }
  char* arena() const { return memory + fake_cuda::arena_offset; }

  /// Returns when all have called it, or when this process has aborted.
  bool wait_for_all() {
    fake_cuda::Meeting& all = meeting();
    const int turn = all.turn;
    if (++all.arrived == ranks) {
      all.arrived = 0;
      ++all.turn;
    }
    while (all.turn == turn && !aborted) usleep(50);
    return !aborted;
  }
};

}  // namespace blastoff::device::gpu::cuda::api

namespace blastoff::fake_cuda {

/// FAKE_TEAM_FAILS=RANK: on this rank, a library refuses each call that all make together.
inline bool fails(const device::gpu::cuda::api::NcclCommunicator& communicator) {
  return wanted("FAKE_TEAM_FAILS", -1) == communicator.rank;
}

struct Grid {
  device::gpu::cuda::api::ncclComm communicator;
  Size rows;
  Size columns;
};

inline std::size_t element_bytes(int type) {
  using namespace device::gpu::cuda::api;
  return type == type_real_32 ? 4 : type == type_complex_64 ? 16 : 8;
}
struct DistributedMatrix {
  const Grid* grid;
  int type;
  Size m;
  Size n;
  Size block;
  Size ld;

  std::size_t bytes() const { return static_cast<std::size_t>(m * n) * element_bytes(type); }
};

/// One matrix of a call: the part of this process, and the whole one in the arena.
struct Share {
  DistributedMatrix matrix;
  char* own;
  bool everywhere = false;  ///< each process has all elements
  char* whole = nullptr;

  /// Copies each element that this process has, if it belongs to the `part`.
  template <class Copy>
  void each_element(const Copy& copy) const {
    const Grid& grid = *matrix.grid;
    const Size row = grid.communicator->rank % grid.rows;
    const Size column = grid.communicator->rank / grid.rows;
    const std::size_t element = element_bytes(matrix.type);
    Size own_column = 0;
    for (Size j = 0; j < matrix.n; ++j) {
      if (!everywhere && j / matrix.block % grid.columns != column) continue;
      Size own_row = 0;
      for (Size i = 0; i < matrix.m; ++i) {
        if (!everywhere && i / matrix.block % grid.rows != row) continue;
        copy(own + static_cast<std::size_t>(own_row + own_column * matrix.ld) * element,
             whole + static_cast<std::size_t>(i + j * matrix.m) * element, element);
        ++own_row;
      }
      ++own_column;
    }
  }
};

/// Queues a call that all processes make together: the first one computes. `compute(wholes)` returns the info, which
/// goes to all. The last `results` matrices are the results.
template <class Compute>
void post_together(device::gpu::cuda::api::CUstream stream, std::vector<Share> shares, int* info,
                   const Compute& compute, std::size_t results = 1) {
  driver().post(stream, [=]() mutable {
    device::gpu::cuda::api::NcclCommunicator& all = *shares[0].matrix.grid->communicator;
    char* place = all.arena();
    for (Share& share : shares) {
      share.whole = place;
      place += share.matrix.bytes();
      share.each_element([](char* own, char* whole, std::size_t bytes) { std::memcpy(whole, own, bytes); });
    }
    if (driver().meet("call") || !all.wait_for_all()) return;
    if (all.rank == 0) all.meeting().info = compute(shares);
    if (!all.wait_for_all()) return;
    for (std::size_t i = shares.size() - results; i < shares.size(); ++i)
      shares[i].each_element([](char* own, char* whole, std::size_t bytes) { std::memcpy(own, whole, bytes); });
    if (info != nullptr) *info = all.meeting().info;
    all.wait_for_all();
    driver().meet("end");
  });
}

}  // namespace blastoff::fake_cuda
