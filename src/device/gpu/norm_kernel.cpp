#include "device/gpu/norm_kernel.h"

#include <algorithm>

namespace blastoff::device::gpu {
namespace {

constexpr std::int64_t lanes = 32;
constexpr unsigned max_blocks = 4096;
constexpr std::int64_t max_chunks = 64;

struct Lines {
  std::int64_t count;
  std::int64_t length;
  std::int64_t chunk;

  Lines(const operation::Operand& matrix, const NormKernel::Reduction& reduction)
      : count(reduction.rows ? matrix.rows : matrix.columns), length(reduction.rows ? matrix.columns : matrix.rows) {
    const std::int64_t shortest = reduction.rows ? 512 : 4096;
    chunk = std::max(shortest, (length + max_chunks - 1) / max_chunks);
  }
  std::int64_t chunks() const { return (length + chunk - 1) / chunk; }
};

}  // namespace

const WordKernelSource NormKernel::kernel_source{&KernelModules::norm, "norm_reals4", "norm_reals8"};

std::size_t NormKernel::result_count(const operation::Operand& matrix, const Reduction& reduction) {
  const Lines lines(matrix, reduction);
  return static_cast<std::size_t>(lines.count * lines.chunks());
}

Status NormKernel::launch(const operation::Operand& matrix, blas::Scalar scalar, const Reduction& reduction,
                          Address result, StreamHandle stream) const {
  constexpr std::int64_t max_lines =
      INT32_MAX - max_blocks * WordKernels::threads_per_block;  // a line further on is no less
  if (std::max(matrix.rows, matrix.columns) > max_lines)
    return tl::unexpected(Error{ErrorKind::unsupported, "no norm of a matrix with so many rows or columns"});
  using operation::Part;
  const Lines lines(matrix, reduction);
  Address address = reinterpret_cast<std::uintptr_t>(matrix.address);
  std::uint64_t line_pitch = reduction.rows ? matrix.element_size : matrix.stride_bytes();
  std::uint64_t position_pitch = reduction.rows ? matrix.stride_bytes() : matrix.element_size;
  auto count = static_cast<std::uint32_t>(lines.count);
  auto length = static_cast<std::uint32_t>(lines.length);
  auto chunk = static_cast<std::uint32_t>(lines.chunk);
  // The upper triangle has the first positions of each column, and the last ones of each row.
  const bool first_positions = (matrix.part == Part::upper) != reduction.rows;
  std::uint32_t part = matrix.part == Part::full ? 0 : first_positions ? 1 : 2;
  std::uint32_t complex = blas::is_complex(scalar) ? 1 : 0;
  std::uint32_t warps = reduction.rows ? 0 : 1;
  auto quantity = static_cast<std::uint32_t>(reduction.quantity);
  std::uint32_t real_diagonal = reduction.real_diagonal ? 1 : 0;
  double on_diagonal = reduction.on_diagonal;
  double beside = reduction.beside;
  double scale = reduction.scale;
  void* parameters[] = {&address, &line_pitch, &position_pitch, &count,       &length, &chunk, &part,  &complex,
                        &warps,   &quantity,   &real_diagonal,  &on_diagonal, &beside, &scale, &result};
  const auto threads = static_cast<std::size_t>(lines.count * (reduction.rows ? 1 : lanes));
  const WordKernels::Blocks blocks{.x = block_count(threads, 1, max_blocks),
                                   .y = static_cast<unsigned>(lines.chunks())};
  return kernels_.launch(matrix.element_size / (complex + 1), blocks, parameters, stream, "a norm");
}

}  // namespace blastoff::device::gpu
