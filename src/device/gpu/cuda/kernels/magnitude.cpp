#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

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

const char magnitude_kernel[] = BLASTOFF_PTX BLASTOFF_MAGNITUDE_KERNEL("largest_magnitude_reals4", "2",
                                                                       "  ld.global.b32 %bits, [%offset];\n"
                                                                       "  and.b32 %bits, %bits, 0x7fffffff;\n"
                                                                       "  cvt.u64.u32 %value, %bits;\n")
    BLASTOFF_MAGNITUDE_KERNEL("largest_magnitude_reals8", "3",
                              "  ld.global.b64 %value, [%offset];\n"
                              "  and.b64 %value, %value, 0x7fffffffffffffff;\n");

}  // namespace blastoff::device::gpu::cuda
