#include "device/gpu/cuda/kernels/kernels.h"

namespace blastoff::device::gpu::cuda {

// Each NAME.ptx in this folder is the member NAME. tools/kernels makes it from NAME.cu.
const KernelModules kernels{
#include "kernels.inc"
};

}  // namespace blastoff::device::gpu::cuda
