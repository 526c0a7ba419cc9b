// Blastoff's own kernels, as modules of PTX, which the driver compiles for the GPU. The sources of
// device/gpu/*_kernel.cpp launch them.
#pragma once

// The beginning of each module.
#define BLASTOFF_PTX ".version 6.0\n.target sm_70\n.address_size 64\n"

namespace blastoff::device::gpu::cuda {

extern const char magnitude_kernel[];
extern const char norm_kernel[];
extern const char permutation_kernel[];
extern const char run_copy_kernel[];
extern const char scale_kernel[];
extern const char transpose_kernel[];
extern const char triangle_kernel[];

}  // namespace blastoff::device::gpu::cuda
