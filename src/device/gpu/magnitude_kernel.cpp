#include "device/gpu/magnitude_kernel.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace blastoff::device::cuda {
namespace {

constexpr std::size_t reals_per_thread = 8;
constexpr std::int64_t max_blocks_along_x = 2048;
constexpr std::size_t max_blocks_along_y = 64;

// The kernel sees a matrix of reals: a complex element is two reals below each other. Without their signs, the bits of
// reals are ordered by magnitude, with NaN above infinity. Threads of one row of blocks (ctaid.x) take the reals of one
// column, then of the column nctaid.x further on.
//
// Parameters: address, pitch in bytes, reals in a full column, columns, reals per element r, part (0 full, 1 upper, 2
// lower), address of the result. The reals of column j that count are [0, reals), [0, (j + 1) r) or [j r, reals).
#define BLASTOFF_EXCHANGE(distance)              \
  "  mov.b64 {%low, %high}, %largest;\n"         \
  "  shfl.sync.down.b32 %low, %low, " distance   \
  ", 31, 0xffffffff;\n"                          \
  "  shfl.sync.down.b32 %high, %high, " distance \
  ", 31, 0xffffffff;\n"                          \
  "  mov.b64 %value, {%low, %high};\n"           \
  "  max.u64 %largest, %largest, %value;\n"
#define BLASTOFF_MAGNITUDE_KERNEL(name, log2_bytes, load) \
  ".visible .entry " name                                                                                  \
  "(\n"                                                                                                    \
  "  .param .u64 p_address, .param .u64 p_pitch, .param .u64 p_reals, .param .u32 p_columns,\n"            \
  "  .param .u32 p_reals_per_element, .param .u32 p_part, .param .u64 p_result)\n"                         \
  "{\n"                                                                                                    \
  "  .reg .pred %done, %upper, %lower, %skip;\n"                                                           \
  "  .reg .u32 %column, %columns, %column_step, %element, %part, %thread, %threads, %block, %blocks;\n"    \
  "  .reg .u32 %next_column, %first32, %step32, %lane;\n"                                                  \
  "  .reg .b32 %low, %high, %bits;\n"                                                                      \
  "  .reg .u64 %address, %pitch, %reals, %result, %begin, %end, %first, %step, %real, %from, %offset;\n"   \
  "  .reg .u64 %column64, %current;\n"                                                                     \
  "  .reg .b64 %value, %largest;\n"                                                                        \
  "  ld.param.u64 %address, [p_address];\n"                                                                \
  "  ld.param.u64 %pitch, [p_pitch];\n"                                                                    \
  "  ld.param.u64 %reals, [p_reals];\n"                                                                    \
  "  ld.param.u32 %columns, [p_columns];\n"                                                                \
  "  ld.param.u32 %element, [p_reals_per_element];\n"                                                      \
  "  ld.param.u32 %part, [p_part];\n"                                                                      \
  "  ld.param.u64 %result, [p_result];\n"                                                                  \
  "  setp.eq.u32 %upper, %part, 1;\n"                                                                      \
  "  setp.eq.u32 %lower, %part, 2;\n"                                                                      \
  "  mov.u32 %column, %ctaid.x;\n"                                                                         \
  "  mov.u32 %column_step, %nctaid.x;\n"                                                                   \
  "  mov.u32 %thread, %tid.x;\n"                                                                           \
  "  mov.u32 %threads, %ntid.x;\n"                                                                         \
  "  mov.u32 %block, %ctaid.y;\n"                                                                          \
  "  mov.u32 %blocks, %nctaid.y;\n"                                                                        \
  "  mad.lo.u32 %first32, %block, %threads, %thread;\n"                                                    \
  "  mul.lo.u32 %step32, %blocks, %threads;\n"                                                             \
  "  cvt.u64.u32 %first, %first32;\n"                                                                      \
  "  cvt.u64.u32 %step, %step32;\n"                                                                        \
  "  mov.u64 %largest, 0;\n"                                                                               \
  "next_column:\n"                                                                                         \
  "  setp.ge.u32 %done, %column, %columns;\n"                                                              \
  "  @%done bra reduce;\n"                                                                                 \
  "  cvt.u64.u32 %column64, %column;\n"                                                                    \
  "  mad.lo.u64 %from, %column64, %pitch, %address;\n"                                                     \
  "  add.u32 %next_column, %column, 1;\n"                                                                  \
  "  mov.u64 %begin, 0;\n"                                                                                 \
  "  @%lower mul.wide.u32 %begin, %column, %element;\n"                                                    \
  "  mov.u64 %end, %reals;\n"                                                                              \
  "  @%upper mul.wide.u32 %end, %next_column, %element;\n"                                                 \
  "  add.u64 %real, %begin, %first;\n"                                                                     \
  "next_real:\n"                                                                                           \
  "  setp.ge.u64 %done, %real, %end;\n"                                                                    \
  "  @%done bra column_done;\n"                                                                            \
  "  shl.b64 %offset, %real, " log2_bytes                                                                  \
  ";\n"                                                                                                    \
  "  add.u64 %offset, %from, %offset;\n" load                                                              \
  "  max.u64 %largest, %largest, %value;\n"                                                                \
  "  add.u64 %real, %real, %step;\n"                                                                       \
  "  bra next_real;\n"                                                                                     \
  "column_done:\n"                                                                                         \
  "  add.u32 %column, %column, %column_step;\n"                                                            \
  "  bra next_column;\n" /* one queues of each warp gets its largest */                                      \
  "reduce:\n" BLASTOFF_EXCHANGE("16") BLASTOFF_EXCHANGE("8") BLASTOFF_EXCHANGE("4") BLASTOFF_EXCHANGE("2") \
      BLASTOFF_EXCHANGE("1")                                                                               \
  "  mov.u32 %lane, %laneid;\n"                                                                            \
  "  setp.ne.u32 %skip, %lane, 0;\n"                                                                       \
  "  @%skip bra finished;\n" /* most need no atomic operation */                                           \
  "  ld.volatile.global.u64 %current, [%result];\n"                                                        \
  "  setp.ge.u64 %skip, %current, %largest;\n"                                                             \
  "  @%skip bra finished;\n"                                                                               \
  "  red.global.max.u64 [%result], %largest;\n"                                                            \
  "finished:\n"                                                                                            \
  "  ret;\n"                                                                                               \
  "}\n"

constexpr const char* functions = BLASTOFF_MAGNITUDE_KERNEL("largest_magnitude_reals4", "2",
                                                            "  ld.global.b32 %bits, [%offset];\n"
                                                            "  and.b32 %bits, %bits, 0x7fffffff;\n"
                                                            "  cvt.u64.u32 %value, %bits;\n")
    BLASTOFF_MAGNITUDE_KERNEL("largest_magnitude_reals8", "3",
                              "  ld.global.b64 %value, [%offset];\n"
                              "  and.b64 %value, %value, 0x7fffffffffffffff;\n");

}  // namespace

const WordKernelSource MagnitudeKernel::kernel_source{functions, "largest_magnitude_reals4",
                                                      "largest_magnitude_reals8"};

Status MagnitudeKernel::launch(const operation::Operand& matrix, blas::Scalar scalar, api::CUdeviceptr result,
                               api::CUstream stream) const {
  if (matrix.empty()) return {};
  std::uint32_t reals_per_element = blas::is_complex(scalar) ? 2 : 1;
  const std::size_t real_bytes = matrix.element_size / reals_per_element;
  if (matrix.columns > INT32_MAX)
    return tl::unexpected(Error{ErrorKind::unsupported, "a matrix with so many columns cannot be searched"});
  api::CUdeviceptr address = reinterpret_cast<std::uintptr_t>(matrix.address);
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

}  // namespace blastoff::device::cuda
