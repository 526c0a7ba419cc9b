#include "device/cuda/executor.h"

#include <array>

#include "device/cuda/cublas/cublas_executor.h"

namespace blastoff::device::cuda {

std::span<const ExecutorKind> executor_kinds() {
  static constexpr std::array kinds{cublas_kind};
  return kinds;
}

}  // namespace blastoff::device::cuda
