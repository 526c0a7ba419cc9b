// Multiplies the reals of a matrix by a factor (device/gpu/matrix_kernels.h). Adjacent threads take adjacent reals. A
// column may be one element, so threads are not bound to columns.
//
// pitch: in bytes. reals: in a column. all: reals in all columns.

using uint64 = unsigned long long;

template <class Real>
__device__ void scale(char* address, uint64 pitch, uint64 reals, uint64 all, Real factor) {
  for (uint64 i = uint64{blockIdx.x} * blockDim.x + threadIdx.x; i < all; i += uint64{gridDim.x} * blockDim.x)
    reinterpret_cast<Real*>(address + i / reals * pitch)[i % reals] *= factor;
}

extern "C" __global__ void scale_reals4(char* address, uint64 pitch, uint64 reals, uint64 all, float factor) {
  scale(address, pitch, reals, all, factor);
}
extern "C" __global__ void scale_reals8(char* address, uint64 pitch, uint64 reals, uint64 all, double factor) {
  scale(address, pitch, reals, all, factor);
}
