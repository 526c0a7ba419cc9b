#include "device/gpu/scale_kernel.h"

#include <cstdint>
#include <utility>

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t reals_per_thread = 8;
constexpr std::size_t max_blocks = 1 << 16;

}  // namespace

const WordKernelSource ScaleKernel::kernel_source{&KernelModules::scale, "scale_reals4", "scale_reals8"};

Status ScaleKernel::launch(const operation::Operand& matrix, std::size_t real_bytes, double factor,
                           StreamHandle stream) const {
  if (matrix.empty()) return {};
  Address address = reinterpret_cast<std::uintptr_t>(matrix.address);
  std::uint64_t pitch = matrix.stride_bytes();
  std::uint64_t reals = matrix.column_bytes() / real_bytes;
  std::uint64_t all = reals * static_cast<std::uint64_t>(matrix.columns);
  auto narrow = static_cast<float>(factor);
  void* const number = real_bytes == sizeof narrow ? static_cast<void*>(&narrow) : &factor;
  void* parameters[] = {&address, &pitch, &reals, &all, number};
  const WordKernels::Blocks blocks{.x = block_count(all, reals_per_thread, max_blocks), .y = 1};
  return kernels_.launch(real_bytes, blocks, parameters, stream, "a multiplication by a factor");
}

}  // namespace blastoff::device::gpu
