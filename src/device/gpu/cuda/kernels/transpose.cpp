#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

// Threads of one row of blocks (ctaid.x) read one column of the source, adjacent elements at a time, then the column
// nctaid.x further on.
//
// Parameters: destination and source address, their pitches in bytes, rows and columns of the source, and whether
// elements are complex: two reals, the second of which changes its sign.
#define BLASTOFF_TRANSPOSE_KERNEL(name, type, log2_bytes, bytes, sign)                                      \
  ".visible .entry " name                                                                                   \
  "(\n"                                                                                                     \
  "  .param .u64 p_destination, .param .u64 p_source,\n"                                                    \
  "  .param .u64 p_destination_pitch, .param .u64 p_source_pitch,\n"                                        \
  "  .param .u64 p_rows, .param .u32 p_columns, .param .u32 p_complex)\n"                                   \
  "{\n"                                                                                                     \
  "  .reg .pred %done, %complex;\n"                                                                         \
  "  .reg .u32 %column, %columns, %column_step, %is_complex, %shift, %thread, %threads, %block, %blocks;\n" \
  "  .reg .u32 %first32, %step32;\n"                                                                        \
  "  .reg .u64 %to, %from, %to_pitch, %from_pitch, %rows, %row, %first, %step, %column64, %read, %write;\n" \
  "  .reg .u64 %to_column, %from_column;\n"                                                                 \
  "  .reg " type                                                                                            \
  " %value;\n"                                                                                              \
  "  ld.param.u64 %to, [p_destination];\n"                                                                  \
  "  ld.param.u64 %from, [p_source];\n"                                                                     \
  "  ld.param.u64 %to_pitch, [p_destination_pitch];\n"                                                      \
  "  ld.param.u64 %from_pitch, [p_source_pitch];\n"                                                         \
  "  ld.param.u64 %rows, [p_rows];\n"                                                                       \
  "  ld.param.u32 %columns, [p_columns];\n"                                                                 \
  "  ld.param.u32 %is_complex, [p_complex];\n"                                                              \
  "  setp.ne.u32 %complex, %is_complex, 0;\n"                                                               \
  "  mov.u32 %shift, " log2_bytes                                                                           \
  ";\n"                                                                                                     \
  "  @%complex add.u32 %shift, %shift, 1;\n"                                                                \
  "  mov.u32 %column, %ctaid.x;\n"                                                                          \
  "  mov.u32 %column_step, %nctaid.x;\n"                                                                    \
  "  mov.u32 %thread, %tid.x;\n"                                                                            \
  "  mov.u32 %threads, %ntid.x;\n"                                                                          \
  "  mov.u32 %block, %ctaid.y;\n"                                                                           \
  "  mov.u32 %blocks, %nctaid.y;\n"                                                                         \
  "  mad.lo.u32 %first32, %block, %threads, %thread;\n"                                                     \
  "  mul.lo.u32 %step32, %blocks, %threads;\n"                                                              \
  "  cvt.u64.u32 %first, %first32;\n"                                                                       \
  "  cvt.u64.u32 %step, %step32;\n"                                                                         \
  "next_column:\n"                                                                                          \
  "  setp.ge.u32 %done, %column, %columns;\n"                                                               \
  "  @%done bra finished;\n"                                                                                \
  "  cvt.u64.u32 %column64, %column;\n"                                                                     \
  "  mad.lo.u64 %from_column, %column64, %from_pitch, %from;\n"                                             \
  "  shl.b64 %to_column, %column64, %shift;\n"                                                              \
  "  add.u64 %to_column, %to_column, %to;\n"                                                                \
  "  mov.u64 %row, %first;\n"                                                                               \
  "next_row:\n"                                                                                             \
  "  setp.ge.u64 %done, %row, %rows;\n"                                                                     \
  "  @%done bra column_done;\n"                                                                             \
  "  shl.b64 %read, %row, %shift;\n"                                                                        \
  "  add.u64 %read, %read, %from_column;\n"                                                                 \
  "  mad.lo.u64 %write, %row, %to_pitch, %to_column;\n"                                                     \
  "  ld.global" type                                                                                        \
  " %value, [%read];\n"                                                                                     \
  "  st.global" type                                                                                        \
  " [%write], %value;\n"                                                                                    \
  "  @!%complex bra row_done;\n"                                                                            \
  "  ld.global" type " %value, [%read+" bytes                                                               \
  "];\n"                                                                                                    \
  "  xor" type " %value, %value, " sign                                                                     \
  ";\n"                                                                                                     \
  "  st.global" type " [%write+" bytes                                                                      \
  "], %value;\n"                                                                                            \
  "row_done:\n"                                                                                             \
  "  add.u64 %row, %row, %step;\n"                                                                          \
  "  bra next_row;\n"                                                                                       \
  "column_done:\n"                                                                                          \
  "  add.u32 %column, %column, %column_step;\n"                                                             \
  "  bra next_column;\n"                                                                                    \
  "finished:\n"                                                                                             \
  "  ret;\n"                                                                                                \
  "}\n"

const char transpose_kernel[] =
    BLASTOFF_PTX BLASTOFF_TRANSPOSE_KERNEL("transpose_reals4", ".b32", "2", "4", "0x80000000")
        BLASTOFF_TRANSPOSE_KERNEL("transpose_reals8", ".b64", "3", "8", "0x8000000000000000");

}  // namespace blastoff::device::gpu::cuda
