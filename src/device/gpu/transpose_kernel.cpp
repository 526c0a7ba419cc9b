#include "device/gpu/transpose_kernel.h"

#include <algorithm>
#include <utility>

namespace blastoff::device::gpu {
namespace {

constexpr std::int64_t max_blocks_along_x = 65535;
constexpr std::size_t max_blocks_along_y = 64;

}  // namespace

const WordKernelSource TransposeKernel::kernel_source{&KernelModules::transpose, "transpose_reals4",
                                                      "transpose_reals8"};

Status TransposeKernel::launch(const operation::Operand& to, const operation::Operand& from, blas::Scalar scalar,
                               StreamHandle stream) const {
  if (from.empty()) return {};
  if (from.columns > INT32_MAX)
    return tl::unexpected(Error{ErrorKind::unsupported, "a matrix with so many columns cannot be transposed"});
  std::uint32_t complex = blas::is_complex(scalar) ? 1 : 0;
  const std::size_t real_bytes = from.element_size / (complex + 1);
  Address destination = reinterpret_cast<std::uintptr_t>(to.address);
  Address source = reinterpret_cast<std::uintptr_t>(from.address);
  std::uint64_t destination_pitch = to.stride_bytes();
  std::uint64_t source_pitch = from.stride_bytes();
  auto rows = static_cast<std::uint64_t>(from.rows);
  auto columns = static_cast<std::uint32_t>(from.columns);
  void* parameters[] = {&destination, &source, &destination_pitch, &source_pitch, &rows, &columns, &complex};
  const WordKernels::Blocks blocks{.x = static_cast<unsigned>(std::min(from.columns, max_blocks_along_x)),
                                   .y = block_count(rows, 1, max_blocks_along_y)};
  return kernels_.launch(real_bytes, blocks, parameters, stream, "a transposition");
}

}  // namespace blastoff::device::gpu
