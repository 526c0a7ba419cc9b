#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

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

const char permutation_kernel[] = BLASTOFF_PTX BLASTOFF_PERMUTATION_KERNEL("permute_words4", ".b32")
    BLASTOFF_PERMUTATION_KERNEL("permute_words8", ".b64");

}  // namespace blastoff::device::gpu::cuda
