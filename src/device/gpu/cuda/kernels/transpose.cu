// Transposes a matrix and conjugates complex elements (device/gpu/matrix_kernels.h), bit for bit. Blocks along x take
// columns of the source, and adjacent threads of blocks along y take adjacent rows.
//
// Pitches are in bytes. rows, columns: of the source. complex: elements are two reals, the second of which changes its
// sign.

using uint64 = unsigned long long;

template <class Bits>
__device__ void transpose(char* destination, const char* source, uint64 destination_pitch, uint64 source_pitch,
                          uint64 rows, unsigned columns, bool complex) {
  constexpr Bits sign = ~(~Bits{0} >> 1);
  const uint64 reals = complex ? 2 : 1;
  for (unsigned column = blockIdx.x; column < columns; column += gridDim.x) {
    const auto* const from = reinterpret_cast<const Bits*>(source + column * source_pitch);
    for (uint64 row = blockIdx.y * blockDim.x + threadIdx.x; row < rows; row += gridDim.y * blockDim.x) {
      auto* const to = reinterpret_cast<Bits*>(destination + row * destination_pitch) + column * reals;
      to[0] = from[row * reals];
      if (complex) to[1] = from[row * reals + 1] ^ sign;
    }
  }
}

extern "C" __global__ void transpose_reals4(char* destination, const char* source, uint64 destination_pitch,
                                            uint64 source_pitch, uint64 rows, unsigned columns, unsigned complex) {
  transpose<unsigned>(destination, source, destination_pitch, source_pitch, rows, columns, complex != 0);
}
extern "C" __global__ void transpose_reals8(char* destination, const char* source, uint64 destination_pitch,
                                            uint64 source_pitch, uint64 rows, unsigned columns, unsigned complex) {
  transpose<uint64>(destination, source, destination_pitch, source_pitch, rows, columns, complex != 0);
}
