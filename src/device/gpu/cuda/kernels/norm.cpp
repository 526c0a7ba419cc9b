#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

// A line is a column or a row. The positions of a line are cut into chunks, one for each row of blocks (ctaid.y).
// Columns are read by one warp each, whose lanes take turns; of rows, each thread has its own. So neighbours read
// neighbours.
//
// Parameters: address, bytes from line to line and from position to position, lines, length of a line, of a chunk; part
// (0 full, 1 positions up to the number of the line, 2 from there on), complex, by warps, quantity (0 magnitudes, 1
// squares, 2 the largest magnitude), real diagonal, factors on the diagonal and beside it, scale, address of the
// result: element chunk * lines + line.
#define BLASTOFF_NORM_EXCHANGE(distance)         \
  "  mov.b64 {%low, %high}, %sum;\n"             \
  "  shfl.sync.down.b32 %low, %low, " distance   \
  ", 31, 0xffffffff;\n"                          \
  "  shfl.sync.down.b32 %high, %high, " distance \
  ", 31, 0xffffffff;\n"                          \
  "  mov.b64 %value, {%low, %high};\n"           \
  "  max.f64 %largest_of_two, %sum, %value;\n"   \
  "  add.rn.f64 %sum, %sum, %value;\n"           \
  "  @%largest mov.f64 %sum, %largest_of_two;\n"
#define BLASTOFF_NORM_KERNEL(name, load_real, load_imaginary) \
  ".visible .entry " name                                                                                         \
  "(\n"                                                                                                           \
  "  .param .u64 p_address, .param .u64 p_line_pitch, .param .u64 p_position_pitch, .param .u32 p_lines,\n"       \
  "  .param .u32 p_length, .param .u32 p_chunk, .param .u32 p_part, .param .u32 p_complex, .param .u32 p_warps,\n" \
  "  .param .u32 p_quantity, .param .u32 p_real_diagonal, .param .f64 p_on_diagonal, .param .f64 p_beside,\n"     \
  "  .param .f64 p_scale, .param .u64 p_result)\n"                                                                \
  "{\n"                                                                                                           \
  "  .reg .pred %done, %till_line, %from_line, %complex, %warps, %squares, %largest, %on_diagonal, %real, %skip;\n" \
  "  .reg .u32 %option, %lines, %length, %chunk, %chunk_number, %chunk_begin, %chunk_end, %line, %line_step;\n"   \
  "  .reg .u32 %first, %step, %thread, %block, %threads, %blocks, %all, %lane, %begin, %end, %next, %position;\n" \
  "  .reg .u64 %address, %line_pitch, %position_pitch, %result, %line64, %position64, %from, %at, %index;\n"      \
  "  .reg .b32 %low, %high;\n"                                                                                    \
  "  .reg .f32 %single;\n"                                                                                        \
  "  .reg .f64 %re, %im, %square, %value, %sum, %weight, %diagonal, %beside, %scale, %largest_of_two;\n"          \
  "  ld.param.u64 %address, [p_address];\n"                                                                       \
  "  ld.param.u64 %line_pitch, [p_line_pitch];\n"                                                                 \
  "  ld.param.u64 %position_pitch, [p_position_pitch];\n"                                                         \
  "  ld.param.u32 %lines, [p_lines];\n"                                                                           \
  "  ld.param.u32 %length, [p_length];\n"                                                                         \
  "  ld.param.u32 %chunk, [p_chunk];\n"                                                                           \
  "  ld.param.u32 %option, [p_part];\n"                                                                           \
  "  setp.eq.u32 %till_line, %option, 1;\n"                                                                       \
  "  setp.eq.u32 %from_line, %option, 2;\n"                                                                       \
  "  ld.param.u32 %option, [p_complex];\n"                                                                        \
  "  setp.ne.u32 %complex, %option, 0;\n"                                                                         \
  "  ld.param.u32 %option, [p_warps];\n"                                                                          \
  "  setp.ne.u32 %warps, %option, 0;\n"                                                                           \
  "  ld.param.u32 %option, [p_quantity];\n"                                                                       \
  "  setp.eq.u32 %squares, %option, 1;\n"                                                                         \
  "  setp.eq.u32 %largest, %option, 2;\n"                                                                         \
  "  ld.param.u32 %option, [p_real_diagonal];\n"                                                                  \
  "  ld.param.f64 %diagonal, [p_on_diagonal];\n"                                                                  \
  "  ld.param.f64 %beside, [p_beside];\n"                                                                         \
  "  ld.param.f64 %scale, [p_scale];\n"                                                                           \
  "  ld.param.u64 %result, [p_result];\n"                                                                         \
  "  mov.u32 %thread, %tid.x;\n"                                                                                  \
  "  mov.u32 %threads, %ntid.x;\n"                                                                                \
  "  mov.u32 %block, %ctaid.x;\n"                                                                                 \
  "  mov.u32 %blocks, %nctaid.x;\n"                                                                               \
  "  mov.u32 %chunk_number, %ctaid.y;\n"                                                                          \
  "  mov.u32 %lane, %laneid;\n"                                                                                   \
  "  mad.lo.u32 %line, %block, %threads, %thread;\n"                                                              \
  "  mul.lo.u32 %line_step, %blocks, %threads;\n"                                                                 \
  "  mov.u32 %first, 0;\n"                                                                                        \
  "  mov.u32 %step, 1;\n"                                                                                         \
  "  @%warps shr.u32 %line, %line, 5;\n"                                                                          \
  "  @%warps shr.u32 %line_step, %line_step, 5;\n"                                                                \
  "  @%warps mov.u32 %first, %lane;\n"                                                                            \
  "  @%warps mov.u32 %step, 32;\n"                                                                                \
  "  mul.lo.u32 %chunk_begin, %chunk_number, %chunk;\n"                                                           \
  "  add.u32 %chunk_end, %chunk_begin, %chunk;\n"                                                                 \
  "  min.u32 %chunk_end, %chunk_end, %length;\n"                                                                  \
  "next_line:\n"                                                                                                  \
  "  setp.ge.u32 %done, %line, %lines;\n"                                                                         \
  "  @%done bra finished;\n"                                                                                      \
  "  mov.u32 %begin, %chunk_begin;\n"                                                                             \
  "  mov.u32 %end, %chunk_end;\n"                                                                                 \
  "  add.u32 %next, %line, 1;\n"                                                                                  \
  "  @%till_line min.u32 %end, %end, %next;\n"                                                                    \
  "  @%from_line max.u32 %begin, %begin, %line;\n"                                                                \
  "  add.u32 %position, %begin, %first;\n"                                                                        \
  "  cvt.u64.u32 %line64, %line;\n"                                                                               \
  "  mad.lo.u64 %from, %line64, %line_pitch, %address;\n"                                                         \
  "  mov.f64 %sum, 0d0000000000000000;\n"                                                                         \
  "next_position:\n"                                                                                              \
  "  setp.ge.u32 %done, %position, %end;\n"                                                                       \
  "  @%done bra line_done;\n"                                                                                     \
  "  cvt.u64.u32 %position64, %position;\n"                                                                       \
  "  mad.lo.u64 %at, %position64, %position_pitch, %from;\n" load_real                                            \
  "  mul.rn.f64 %re, %re, %scale;\n"                                                                              \
  "  setp.eq.u32 %on_diagonal, %position, %line;\n"                                                               \
  "  mov.f64 %weight, %beside;\n"                                                                                 \
  "  @%on_diagonal mov.f64 %weight, %diagonal;\n"                                                                 \
  "  abs.f64 %value, %re;\n"                                                                                      \
  "  mul.rn.f64 %square, %re, %re;\n"                                                                             \
  "  @!%complex bra add_value;\n" load_imaginary                                                                  \
  "  mul.rn.f64 %im, %im, %scale;\n"                                                                              \
  "  setp.ne.and.u32 %real, %option, 0, %on_diagonal;\n"                                                          \
  "  @%real mov.f64 %im, 0d0000000000000000;\n"                                                                   \
  "  fma.rn.f64 %square, %im, %im, %square;\n"                                                                    \
  "  sqrt.rn.f64 %value, %square;\n"                                                                              \
  "add_value:\n"                                                                                                  \
  "  @%squares mov.f64 %value, %square;\n"                                                                        \
  "  max.f64 %largest_of_two, %sum, %value;\n"                                                                    \
  "  fma.rn.f64 %sum, %weight, %value, %sum;\n"                                                                   \
  "  @%largest mov.f64 %sum, %largest_of_two;\n"                                                                  \
  "  add.u32 %position, %position, %step;\n"                                                                      \
  "  bra next_position;\n"                                                                                        \
  "line_done:\n"                                                                                                  \
  "  @!%warps bra store;\n" BLASTOFF_NORM_EXCHANGE("16") BLASTOFF_NORM_EXCHANGE("8") BLASTOFF_NORM_EXCHANGE("4")  \
      BLASTOFF_NORM_EXCHANGE("2") BLASTOFF_NORM_EXCHANGE("1")                                                     \
  "  setp.ne.u32 %skip, %lane, 0;\n"                                                                              \
  "  @%skip bra line_stored;\n"                                                                                   \
  "store:\n"                                                                                                      \
  "  mul.wide.u32 %index, %chunk_number, %lines;\n"                                                               \
  "  add.u64 %index, %index, %line64;\n"                                                                          \
  "  shl.b64 %index, %index, 3;\n"                                                                                \
  "  add.u64 %index, %index, %result;\n"                                                                          \
  "  st.global.f64 [%index], %sum;\n"                                                                             \
  "line_stored:\n"                                                                                                \
  "  add.u32 %line, %line, %line_step;\n"                                                                         \
  "  bra next_line;\n"                                                                                            \
  "finished:\n"                                                                                                   \
  "  ret;\n"                                                                                                      \
  "}\n"

const char norm_kernel[] = BLASTOFF_PTX BLASTOFF_NORM_KERNEL("norm_reals4",
                                                             "  ld.global.f32 %single, [%at];\n"
                                                             "  cvt.f64.f32 %re, %single;\n",
                                                             "  ld.global.f32 %single, [%at+4];\n"
                                                             "  cvt.f64.f32 %im, %single;\n")
    BLASTOFF_NORM_KERNEL("norm_reals8", "  ld.global.f64 %re, [%at];\n", "  ld.global.f64 %im, [%at+8];\n");

}  // namespace blastoff::device::gpu::cuda
