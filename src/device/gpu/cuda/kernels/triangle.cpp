#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

// The kernel sees a matrix of words of 4 or 8 bytes; an element of 16 bytes is two words below each other. So one
// kernel serves every type, and no access is wider than an element's real number (complex elements need not be aligned
// to their size). One row of blocks (ctaid.x) has one column; its threads take adjacent words, which coalesces along
// the column.
//
// Parameters: destination and source address, their pitches in bytes, words in a full column, words per element,
// order of the blocks on the diagonal, and whether the lower triangle is meant. With column j in the block of columns
// [f, f + b), its part of the triangle is words [f w, (j + 1) w) or [j w, min((f + b) w, words)).
//
// Host memory is written over the bus in lines. So the threads are shifted such that the threads of one warp begin with
// a line of 128 bytes, instead of writing two halves.
#define BLASTOFF_TRIANGLE_KERNEL(name, type, log2_bytes)                                                  \
  ".visible .entry " name                                                                                 \
  "(\n"                                                                                                   \
  "  .param .u64 p_destination, .param .u64 p_source,\n"                                                  \
  "  .param .u64 p_destination_pitch, .param .u64 p_source_pitch,\n"                                      \
  "  .param .u64 p_words, .param .u32 p_words_per_element, .param .u32 p_block_order,\n"                  \
  "  .param .u32 p_lower)\n"                                                                              \
  "{\n"                                                                                                   \
  "  .reg .pred %lower, %done, %before;\n"                                                                \
  "  .reg .u32 %column, %element, %is_lower, %thread, %threads, %block, %blocks, %first32, %step32;\n"    \
  "  .reg .u32 %order, %top, %bottom;\n"                                                                  \
  "  .reg .u64 %to, %from, %pitch, %word, %words, %end, %begin, %column64, %element64, %step, %bytes;\n"  \
  "  .reg .u64 %offset, %shift, %upper_begin, %upper_end;\n"                                              \
  "  .reg " type                                                                                          \
  " %value;\n"                                                                                            \
  "  ld.param.u64 %to, [p_destination];\n"                                                                \
  "  ld.param.u64 %from, [p_source];\n"                                                                   \
  "  ld.param.u64 %words, [p_words];\n"                                                                   \
  "  ld.param.u32 %element, [p_words_per_element];\n"                                                     \
  "  ld.param.u32 %order, [p_block_order];\n"                                                             \
  "  ld.param.u32 %is_lower, [p_lower];\n"                                                                \
  "  mov.u32 %column, %ctaid.x;\n"                                                                        \
  "  mov.u32 %thread, %tid.x;\n"                                                                          \
  "  mov.u32 %threads, %ntid.x;\n"                                                                        \
  "  mov.u32 %block, %ctaid.y;\n"                                                                         \
  "  mov.u32 %blocks, %nctaid.y;\n" /* the first row of the column's block, and the row after its last */ \
  "  div.u32 %top, %column, %order;\n"                                                                    \
  "  mul.lo.u32 %top, %top, %order;\n"                                                                    \
  "  add.u32 %bottom, %top, %order;\n" /* the lower triangle, then the upper */                           \
  "  mul.wide.u32 %begin, %column, %element;\n"                                                           \
  "  mul.wide.u32 %end, %bottom, %element;\n"                                                             \
  "  min.u64 %end, %end, %words;\n"                                                                       \
  "  cvt.u64.u32 %element64, %element;\n"                                                                 \
  "  add.u64 %upper_end, %begin, %element64;\n"                                                           \
  "  mul.wide.u32 %upper_begin, %top, %element;\n"                                                        \
  "  setp.ne.u32 %lower, %is_lower, 0;\n"                                                                 \
  "  @!%lower mov.u64 %end, %upper_end;\n"                                                                \
  "  @!%lower mov.u64 %begin, %upper_begin;\n" /* this column on both sides */                            \
  "  cvt.u64.u32 %column64, %column;\n"                                                                   \
  "  ld.param.u64 %pitch, [p_destination_pitch];\n"                                                       \
  "  mad.lo.u64 %to, %column64, %pitch, %to;\n"                                                           \
  "  ld.param.u64 %pitch, [p_source_pitch];\n"                                                            \
  "  mad.lo.u64 %from, %column64, %pitch, %from;\n" /* words from the line's start to the first */        \
  "  shl.b64 %shift, %begin, " log2_bytes                                                                 \
  ";\n"                                                                                                   \
  "  add.u64 %shift, %shift, %to;\n"                                                                      \
  "  and.b64 %shift, %shift, 127;\n"                                                                      \
  "  shr.u64 %shift, %shift, " log2_bytes                                                                 \
  ";\n" /* first word and stride of this thread */                                                        \
  "  mad.lo.u32 %first32, %block, %threads, %thread;\n"                                                   \
  "  mul.lo.u32 %step32, %blocks, %threads;\n"                                                            \
  "  cvt.u64.u32 %word, %first32;\n"                                                                      \
  "  cvt.u64.u32 %step, %step32;\n"                                                                       \
  "  setp.lt.u64 %before, %word, %shift;\n"                                                               \
  "  @%before add.u64 %word, %word, %step;\n"                                                             \
  "  add.u64 %word, %word, %begin;\n"                                                                     \
  "  sub.u64 %word, %word, %shift;\n"                                                                     \
  "next:\n"                                                                                               \
  "  setp.ge.u64 %done, %word, %end;\n"                                                                   \
  "  @%done bra finished;\n"                                                                              \
  "  shl.b64 %bytes, %word, " log2_bytes                                                                  \
  ";\n"                                                                                                   \
  "  add.u64 %offset, %from, %bytes;\n"                                                                   \
  "  ld.global" type                                                                                      \
  " %value, [%offset];\n"                                                                                 \
  "  add.u64 %offset, %to, %bytes;\n"                                                                     \
  "  st.global" type                                                                                      \
  " [%offset], %value;\n"                                                                                 \
  "  add.u64 %word, %word, %step;\n"                                                                      \
  "  bra next;\n"                                                                                         \
  "finished:\n"                                                                                           \
  "  ret;\n"                                                                                              \
  "}\n"

const char triangle_kernel[] = BLASTOFF_PTX BLASTOFF_TRIANGLE_KERNEL("copy_triangle_words4", ".b32", "2")
    BLASTOFF_TRIANGLE_KERNEL("copy_triangle_words8", ".b64", "3");

}  // namespace blastoff::device::gpu::cuda
