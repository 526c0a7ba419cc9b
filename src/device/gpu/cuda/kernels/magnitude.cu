// The largest magnitude among the reals of a matrix (device/gpu/matrix_kernels.h). A complex element is two reals
// below each other. Without their signs, the bits of reals are ordered by magnitude, with NaN above infinity.
//
// Blocks along x take columns, and threads of blocks along y take the reals of a column. pitch: in bytes. reals: of a
// full column. part: 0 full, 1 upper, 2 lower; the reals of column j that count are [0, reals), [0, (j + 1)
// per_element) or [j per_element, reals). result: one word, which only grows.

using uint64 = unsigned long long;

template <class Bits>
__device__ void find_largest(const char* address, uint64 pitch, uint64 reals, unsigned columns, unsigned per_element,
                             unsigned part, uint64* result) {
  constexpr Bits without_sign = ~Bits{0} >> 1;
  const unsigned begin_step = part == 2 ? per_element : 0;
  const unsigned end_step = part == 1 ? per_element : 0;
  const uint64 first_end = part == 1 ? per_element : reals;
  uint64 largest = 0;
  for (unsigned column = blockIdx.x; column < columns; column += gridDim.x) {
    const auto* const bits = reinterpret_cast<const Bits*>(address + column * pitch);
    const uint64 begin = uint64{column} * begin_step;
    const uint64 end = uint64{column} * end_step + first_end;
    for (uint64 i = begin + blockIdx.y * blockDim.x + threadIdx.x; i < end; i += gridDim.y * blockDim.x)
      largest = max(largest, uint64{bits[i] & without_sign});
  }
  for (unsigned distance = 16; distance > 0; distance /= 2)
    largest = max(largest, __shfl_down_sync(0xffffffff, largest, distance));
  // Most warps need no atomic operation.
  if (threadIdx.x % 32 == 0 && *const_cast<volatile uint64*>(result) < largest) atomicMax(result, largest);
}

extern "C" __global__ void largest_magnitude_reals4(const char* address, uint64 pitch, uint64 reals, unsigned columns,
                                                    unsigned per_element, unsigned part, uint64* result) {
  find_largest<unsigned>(address, pitch, reals, columns, per_element, part, result);
}
extern "C" __global__ void largest_magnitude_reals8(const char* address, uint64 pitch, uint64 reals, unsigned columns,
                                                    unsigned per_element, unsigned part, uint64* result) {
  find_largest<uint64>(address, pitch, reals, columns, per_element, part, result);
}
