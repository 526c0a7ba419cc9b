#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

// One row of blocks (ctaid.x) has one run; adjacent threads take adjacent words.
#define BLASTOFF_RUN_COPY_KERNEL(name, type, log2_bytes)                            \
  ".visible .entry " name                                                           \
  "(\n"                                                                             \
  "  .param .align 8 .b8 p_runs[3840])\n"                                           \
  "{\n"                                                                             \
  "  .reg .pred %done;\n"                                                           \
  "  .reg .u32 %run, %thread, %threads, %block, %blocks, %first32, %step32;\n"      \
  "  .reg .u64 %entry, %runs, %to, %from, %words, %word, %step, %bytes, %offset;\n" \
  "  .reg " type                                                                    \
  " %value;\n"                                                                      \
  "  mov.u32 %run, %ctaid.x;\n"                                                     \
  "  mov.u32 %thread, %tid.x;\n"                                                    \
  "  mov.u32 %threads, %ntid.x;\n"                                                  \
  "  mov.u32 %block, %ctaid.y;\n"                                                   \
  "  mov.u32 %blocks, %nctaid.y;\n"                                                 \
  "  mul.wide.u32 %entry, %run, 24;\n"                                              \
  "  mov.u64 %runs, p_runs;\n"                                                      \
  "  add.u64 %entry, %entry, %runs;\n"                                              \
  "  ld.param.u64 %to, [%entry];\n"                                                 \
  "  ld.param.u64 %from, [%entry+8];\n"                                             \
  "  ld.param.u64 %words, [%entry+16];\n"                                           \
  "  mad.lo.u32 %first32, %block, %threads, %thread;\n"                             \
  "  mul.lo.u32 %step32, %blocks, %threads;\n"                                      \
  "  cvt.u64.u32 %word, %first32;\n"                                                \
  "  cvt.u64.u32 %step, %step32;\n"                                                 \
  "next:\n"                                                                         \
  "  setp.ge.u64 %done, %word, %words;\n"                                           \
  "  @%done bra finished;\n"                                                        \
  "  shl.b64 %bytes, %word, " log2_bytes                                            \
  ";\n"                                                                             \
  "  add.u64 %offset, %from, %bytes;\n"                                             \
  "  ld.global" type                                                                \
  " %value, [%offset];\n"                                                           \
  "  add.u64 %offset, %to, %bytes;\n"                                               \
  "  st.global" type                                                                \
  " [%offset], %value;\n"                                                           \
  "  add.u64 %word, %word, %step;\n"                                                \
  "  bra next;\n"                                                                   \
  "finished:\n"                                                                     \
  "  ret;\n"                                                                        \
  "}\n"

const char run_copy_kernel[] = BLASTOFF_PTX BLASTOFF_RUN_COPY_KERNEL("copy_runs_words4", ".b32", "2")
    BLASTOFF_RUN_COPY_KERNEL("copy_runs_words8", ".b64", "3");

}  // namespace blastoff::device::gpu::cuda
