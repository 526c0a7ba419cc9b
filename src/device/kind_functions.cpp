#include "device/kind_functions.h"

#include "device/gpu/cuda/cuda_device.h"
#include "device/simulated/simulated_device.h"

namespace blastoff::device {

namespace cuda = gpu::cuda;

constinit const KindFunctions kind_functions[] = {
#define BLASTOFF_FUNCTIONS(name, numbered, variable, address_space, timed, help) name::functions_of_kind,
    BLASTOFF_DEVICE_KINDS(BLASTOFF_FUNCTIONS)
#undef BLASTOFF_FUNCTIONS
};

}  // namespace blastoff::device
