// A libnccl.so.2 for the fake GPU: processes meet in a file in /dev/shm. FAKE_NCCL_RESULT: what ncclCommInitRank
// returns.
#include <atomic>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda/communicator.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in NCCL's own words
namespace fake = blastoff::fake_cuda;

namespace {

constexpr ncclResult system_error = 2;

}  // namespace

extern "C" {

ncclResult ncclGetVersion(int* version) {
  *version = 22803;
  return nccl_success;
}

const char* ncclGetErrorString(ncclResult) {
  return "an error of the fake NCCL";
}

ncclResult ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> made{0};
  std::snprintf(id->internal, sizeof id->internal, "/fake-nccl-%d-%d", getpid(), made++);
  const int file = shm_open(id->internal, O_CREAT | O_RDWR | O_EXCL, 0600);
  const bool sized = file >= 0 && ftruncate(file, fake::meeting_bytes) == 0;
  close(file);
  return sized ? nccl_success : system_error;
}

ncclResult ncclCommInitRank(ncclComm* communicator, int ranks, ncclUniqueId id, int rank) {
  if (const int result = fake::wanted("FAKE_NCCL_RESULT", nccl_success); result != nccl_success) {
    shm_unlink(id.internal);
    return result;
  }
  if (!fake::driver().context_is_current()) return system_error;
  const int file = shm_open(id.internal, O_RDWR, 0600);
  if (file < 0) return system_error;
  void* const memory = mmap(nullptr, fake::meeting_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return system_error;
  *communicator = new NcclCommunicator;
  (*communicator)->rank = rank;
  (*communicator)->ranks = ranks;
  (*communicator)->memory = static_cast<char*>(memory);
  (*communicator)->wait_for_all();
  if (rank == 0) shm_unlink(id.internal);
  fake::driver().join(rank);
  return nccl_success;
}

ncclResult ncclCommAbort(ncclComm communicator) {
  fake::say_when("leaves");
  communicator->aborted = true;
  return nccl_success;
}
}
