#include "device/gpu/matrix_kernels.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace blastoff::device::gpu {
namespace {

constexpr std::size_t words_per_thread = 8;  // of 4 or of 8 bytes
constexpr std::size_t max_blocks_along_y = 64;

constexpr std::int64_t lanes = 32;
constexpr unsigned max_norm_blocks = 4096;
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
      INT32_MAX - max_norm_blocks * WordKernels::threads_per_block;  // a line further on is no less
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
  const WordKernels::Blocks blocks{.x = block_count(threads, 1, max_norm_blocks),
                                   .y = static_cast<unsigned>(lines.chunks())};
  return kernels_.launch(matrix.element_size / (complex + 1), blocks, parameters, stream, "a norm");
}

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
  const WordKernels::Blocks blocks{.x = static_cast<unsigned>(std::min<std::int64_t>(matrix.columns, 2048)),
                                   .y = block_count(reals, words_per_thread, max_blocks_along_y)};
  return kernels_.launch(real_bytes, blocks, parameters, stream, "a search for the largest magnitude");
}

double MagnitudeKernel::value(std::uint64_t bits, blas::Scalar scalar) {
  const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
  return single ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                : std::bit_cast<double>(bits);
}

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
  const WordKernels::Blocks blocks{.x = static_cast<unsigned>(std::min<std::int64_t>(from.columns, 65535)),
                                   .y = block_count(rows, 1, max_blocks_along_y)};
  return kernels_.launch(real_bytes, blocks, parameters, stream, "a transposition");
}

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
  const WordKernels::Blocks blocks{.x = block_count(all, words_per_thread, 1 << 16), .y = 1};
  return kernels_.launch(real_bytes, blocks, parameters, stream, "a multiplication by a factor");
}

const WordKernelSource TriangleKernel::kernel_source{&KernelModules::triangle, "copy_triangle_words4",
                                                     "copy_triangle_words8"};

Status TriangleKernel::launch(const TriangleCopy& copy, StreamHandle stream) const {
  if (copy.order == 0) return {};
  const std::uint64_t alignment =
      copy.destination | copy.source | copy.destination_pitch | copy.source_pitch | copy.element_size;
  if (alignment % 4 != 0 || copy.order > INT32_MAX) {
    return tl::unexpected(Error{ErrorKind::unsupported, "a triangle that is not aligned to 4 bytes cannot be copied"});
  }
  const std::size_t word_bytes = alignment % 8 == 0 ? 8 : 4;
  std::uint32_t words_per_element = static_cast<std::uint32_t>(copy.element_size / word_bytes);
  std::uint64_t words = static_cast<std::uint64_t>(copy.order) * words_per_element;
  auto block_order = static_cast<std::uint32_t>(std::min(copy.block_order, copy.order));
  std::uint32_t lower = copy.part == operation::Part::lower ? 1 : 0;
  TriangleCopy arguments = copy;
  void* parameters[] = {&arguments.destination,
                        &arguments.source,
                        &arguments.destination_pitch,
                        &arguments.source_pitch,
                        &words,
                        &words_per_element,
                        &block_order,
                        &lower};
  const std::size_t longest = static_cast<std::size_t>(block_order) * words_per_element;
  const WordKernels::Blocks blocks{.x = static_cast<unsigned>(copy.order),
                                   .y = block_count(longest, words_per_thread, 65535)};
  return kernels_.launch(word_bytes, blocks, parameters, stream, "a triangle copy");
}

}  // namespace blastoff::device::gpu
