#include "device/gpu/permutation_kernel.h"

#include <utility>

namespace blastoff::device::cuda {
namespace {

constexpr std::size_t max_blocks = std::size_t{1} << 16;

/// Words are counted with 32 bits, since a GPU divides these several times as fast as 64 bits. One bit is left for a
/// step beyond the end.
constexpr std::size_t max_words = std::size_t{1} << 31;

// A dimension as the kernel reads it: 24 bytes. Strides are in bytes.
struct KernelDimension {
  std::uint32_t extent;
  std::uint64_t source_stride;
  std::uint64_t destination_stride;
};
static_assert(sizeof(KernelDimension) * Permutation::max_dimensions == 216);

// Adjacent threads write adjacent words: the first dimension is the one with the smallest stride in the destination.
// Each thread computes its indices from the number of its word.
#define BLASTOFF_PERMUTATION_KERNEL(name, type)                                                                \
  ".visible .entry " name                                                                                      \
  "\n"                                                                                                         \
  "(\n"                                                                                                        \
  "  .param .u64 p_destination, .param .u64 p_source,\n"                                                       \
  "  .param .u32 p_words, .param .u32 p_dimensions,\n"                                                         \
  "  .param .align 8 .b8 p_shape[216])\n"                                                                      \
  "{\n"                                                                                                        \
  "  .reg .pred %done;\n"                                                                                      \
  "  .reg .u32 %index, %step, %words, %dimensions, %left, %rest, %extent, %quotient, %product, %coordinate;\n" \
  "  .reg .u32 %thread, %threads, %block, %blocks;\n"                                                          \
  "  .reg .u64 %to, %from, %read, %write, %shape, %wide, %stride;\n"                                           \
  "  .reg " type                                                                                               \
  " %value;\n"                                                                                                 \
  "  ld.param.u64 %to, [p_destination];\n"                                                                     \
  "  ld.param.u64 %from, [p_source];\n"                                                                        \
  "  ld.param.u32 %words, [p_words];\n"                                                                        \
  "  ld.param.u32 %dimensions, [p_dimensions];\n"                                                              \
  "  mov.u32 %thread, %tid.x;\n"                                                                               \
  "  mov.u32 %threads, %ntid.x;\n"                                                                             \
  "  mov.u32 %block, %ctaid.x;\n"                                                                              \
  "  mov.u32 %blocks, %nctaid.x;\n"                                                                            \
  "  mad.lo.u32 %index, %block, %threads, %thread;\n"                                                          \
  "  mul.lo.u32 %step, %blocks, %threads;\n"                                                                   \
  "next_word:\n"                                                                                               \
  "  setp.ge.u32 %done, %index, %words;\n"                                                                     \
  "  @%done bra finished;\n"                                                                                   \
  "  mov.u64 %read, %from;\n"                                                                                  \
  "  mov.u64 %write, %to;\n"                                                                                   \
  "  mov.u32 %rest, %index;\n"                                                                                 \
  "  mov.u32 %left, %dimensions;\n"                                                                            \
  "  mov.u64 %shape, p_shape;\n"                                                                               \
  "next_dimension:\n"                                                                                          \
  "  setp.eq.u32 %done, %left, 0;\n"                                                                           \
  "  @%done bra copy;\n"                                                                                       \
  "  ld.param.u32 %extent, [%shape];\n"                                                                        \
  "  div.u32 %quotient, %rest, %extent;\n"                                                                     \
  "  mul.lo.u32 %product, %quotient, %extent;\n"                                                               \
  "  sub.u32 %coordinate, %rest, %product;\n"                                                                  \
  "  cvt.u64.u32 %wide, %coordinate;\n"                                                                        \
  "  ld.param.u64 %stride, [%shape+8];\n"                                                                      \
  "  mad.lo.u64 %read, %wide, %stride, %read;\n"                                                               \
  "  ld.param.u64 %stride, [%shape+16];\n"                                                                     \
  "  mad.lo.u64 %write, %wide, %stride, %write;\n"                                                             \
  "  mov.u32 %rest, %quotient;\n"                                                                              \
  "  add.u64 %shape, %shape, 24;\n"                                                                            \
  "  sub.u32 %left, %left, 1;\n"                                                                               \
  "  bra next_dimension;\n"                                                                                    \
  "copy:\n"                                                                                                    \
  "  ld.global" type                                                                                           \
  " %value, [%read];\n"                                                                                        \
  "  st.global" type                                                                                           \
  " [%write], %value;\n"                                                                                       \
  "  add.u32 %index, %index, %step;\n"                                                                         \
  "  bra next_word;\n"                                                                                         \
  "finished:\n"                                                                                                \
  "  ret;\n"                                                                                                   \
  "}\n"

constexpr const char* functions =
    BLASTOFF_PERMUTATION_KERNEL("permute_words4", ".b32") BLASTOFF_PERMUTATION_KERNEL("permute_words8", ".b64");

}  // namespace

const WordKernelSource PermutationKernel::kernel_source{functions, "permute_words4", "permute_words8"};

Status PermutationKernel::launch(Address destination, Address source, const Permutation& permutation,
                                 api::CUstream stream) const {
  const Permutation simple = permutation.simplified();
  const std::size_t words = simple.elements();
  if (words > max_words)
    return tl::unexpected(Error{ErrorKind::unsupported, "a tensor of so many elements cannot be permuted"});
  std::array<KernelDimension, Permutation::max_dimensions> shape{};
  for (std::size_t i = 0; i < simple.count; ++i) {
    const Permutation::Dimension& dimension = simple.dimensions[i];
    shape[i] = {static_cast<std::uint32_t>(dimension.extent),
                static_cast<std::uint64_t>(dimension.source_stride) * simple.element_size,
                static_cast<std::uint64_t>(dimension.destination_stride) * simple.element_size};
  }
  auto count = static_cast<std::uint32_t>(words);
  auto dimensions = static_cast<std::uint32_t>(simple.count);
  void* parameters[] = {&destination, &source, &count, &dimensions, shape.data()};
  const WordKernels::Blocks blocks{.x = block_count(words, 1, max_blocks), .y = 1};
  return kernels_.launch(simple.element_size, blocks, parameters, stream, "a permutation");
}

}  // namespace blastoff::device::cuda
