#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

// Parameters: address, pitch in bytes, reals in a column, reals in all columns, factor. Threads that follow each other
// take reals that follow each other. A column may be one element, so threads are not bound to columns.
#define BLASTOFF_SCALE_KERNEL(name, type, log2_bytes)                                              \
  ".visible .entry " name                                                                          \
  "(\n"                                                                                            \
  "  .param .u64 p_address, .param .u64 p_pitch, .param .u64 p_reals, .param .u64 p_all,\n"        \
  "  .param ." type                                                                                \
  " p_factor)\n"                                                                                   \
  "{\n"                                                                                            \
  "  .reg .pred %done;\n"                                                                          \
  "  .reg .u32 %thread, %threads, %block, %blocks;\n"                                              \
  "  .reg .u64 %address, %pitch, %reals, %all, %real, %step, %column, %row, %thread64, %offset;\n" \
  "  .reg ." type                                                                                  \
  " %factor, %value;\n"                                                                            \
  "  ld.param.u64 %address, [p_address];\n"                                                        \
  "  ld.param.u64 %pitch, [p_pitch];\n"                                                            \
  "  ld.param.u64 %reals, [p_reals];\n"                                                            \
  "  ld.param.u64 %all, [p_all];\n"                                                                \
  "  ld.param." type                                                                               \
  " %factor, [p_factor];\n"                                                                        \
  "  mov.u32 %thread, %tid.x;\n"                                                                   \
  "  mov.u32 %threads, %ntid.x;\n"                                                                 \
  "  mov.u32 %block, %ctaid.x;\n"                                                                  \
  "  mov.u32 %blocks, %nctaid.x;\n"                                                                \
  "  cvt.u64.u32 %thread64, %thread;\n"                                                            \
  "  mul.wide.u32 %real, %block, %threads;\n"                                                      \
  "  add.u64 %real, %real, %thread64;\n"                                                           \
  "  mul.wide.u32 %step, %blocks, %threads;\n"                                                     \
  "next_real:\n"                                                                                   \
  "  setp.ge.u64 %done, %real, %all;\n"                                                            \
  "  @%done bra finished;\n"                                                                       \
  "  div.u64 %column, %real, %reals;\n"                                                            \
  "  mul.lo.u64 %row, %column, %reals;\n"                                                          \
  "  sub.u64 %row, %real, %row;\n"                                                                 \
  "  shl.b64 %row, %row, " log2_bytes                                                              \
  ";\n"                                                                                            \
  "  mad.lo.u64 %offset, %column, %pitch, %address;\n"                                             \
  "  add.u64 %offset, %offset, %row;\n"                                                            \
  "  ld.global." type                                                                              \
  " %value, [%offset];\n"                                                                          \
  "  mul.rn." type                                                                                 \
  " %value, %value, %factor;\n"                                                                    \
  "  st.global." type                                                                              \
  " [%offset], %value;\n"                                                                          \
  "  add.u64 %real, %real, %step;\n"                                                               \
  "  bra next_real;\n"                                                                             \
  "finished:\n"                                                                                    \
  "  ret;\n"                                                                                       \
  "}\n"

const char scale_kernel[] =
    BLASTOFF_PTX BLASTOFF_SCALE_KERNEL("scale_reals4", "f32", "2") BLASTOFF_SCALE_KERNEL("scale_reals8", "f64", "3");

}  // namespace blastoff::device::gpu::cuda
