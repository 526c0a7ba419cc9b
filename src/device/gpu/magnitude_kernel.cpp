#include "device/gpu/magnitude_kernel.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t reals_per_thread = 8;
constexpr std::int64_t max_blocks_along_x = 2048;
constexpr std::size_t max_blocks_along_y = 64;

}  // namespace

const WordKernelSource MagnitudeKernel::kernel_source{&KernelModules::magnitude, "largest_magnitude_reals4",
                                                      "largest_magnitude_reals8"};

Status MagnitudeKernel::launch(const operation::Operand& matrix, blas::Scalar scalar, Address result,
                               StreamHandle stream) const {
  if (matrix.empty()) return {};
  std::uint32_t reals_per_element = blas::is_complex(scalar) ? 2 : 1;
  const std::size_t real_bytes = matrix.element_size / reals_per_element;
  if (matrix.columns > INT32_MAX)
    return tl::unexpected(Error{ErrorKind::unsupported, "a matrix with so many columns cannot be searched"});
  Address address = reinterpret_cast<std::uintptr_t>(matrix.address);
  std::uint64_t pitch = matrix.stride_bytes();
  std::uint64_t reals = static_cast<std::uint64_t>(matrix.rows) * reals_per_element;
  auto columns = static_cast<std::uint32_t>(matrix.columns);
  std::uint32_t part = matrix.part == operation::Part::full ? 0 : matrix.part == operation::Part::upper ? 1 : 2;
  void* parameters[] = {&address, &pitch, &reals, &columns, &reals_per_element, &part, &result};
  const WordKernels::Blocks blocks{.x = static_cast<unsigned>(std::min(matrix.columns, max_blocks_along_x)),
                                   .y = block_count(reals, reals_per_thread, max_blocks_along_y)};
  return kernels_.launch(real_bytes, blocks, parameters, stream, "a search for the largest magnitude");
}

double MagnitudeKernel::value(std::uint64_t bits, blas::Scalar scalar) {
  const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
  return single ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                : std::bit_cast<double>(bits);
}

}  // namespace blastoff::device::gpu
