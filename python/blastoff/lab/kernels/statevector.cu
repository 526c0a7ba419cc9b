// A gate on two qubits of a state vector: each thread multiplies four amplitudes with the gate's matrix.
struct Gate {
  float entries[32];  // 4 x 4 complex, by rows
};

// Inserts a zero at bit `position`.
__device__ long long spread(long long index, int position) {
  const long long low = index & ((1LL << position) - 1);
  return ((index >> position) << (position + 1)) | low;
}

__device__ __forceinline__ float2 row_times(const Gate& matrix, int row, const float2* before) {
  float2 sum = {0.0f, 0.0f};
#pragma unroll
  for (int column = 0; column < 4; ++column) {
    const float real = matrix.entries[8 * row + 2 * column], imaginary = matrix.entries[8 * row + 2 * column + 1];
    sum.x += real * before[column].x - imaginary * before[column].y;
    sum.y += real * before[column].y + imaginary * before[column].x;
  }
  return sum;
}

// `low` < `high` are the qubits' bits; `first` and `second` are the bits that the matrix counts as 1 and 2.
extern "C" __global__ void gate(long long quads, int low, int high, int first, int second, Gate matrix, float2* state) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += stride) {
    const long long base = spread(spread(i, low), high);
    long long where[4];
    float2 before[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      where[k] = base | ((long long)(k & 1) << first) | ((long long)(k >> 1) << second);
      before[k] = state[where[k]];
    }
#pragma unroll
    for (int row = 0; row < 4; ++row) state[where[row]] = row_times(matrix, row, before);
  }
}

// Applies a gate to a state that is stored in up to four parts of 2^part_bits amplitudes each.
extern "C" __global__ void gate_on_parts(long long quads, int low, int high, int first, int second, Gate matrix,
                                         int part_bits, float2* part0, float2* part1, float2* part2, float2* part3) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += stride) {
    const long long base = spread(spread(i, low), high);
    float2* where[4];
    float2 before[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const long long number = base | ((long long)(k & 1) << first) | ((long long)(k >> 1) << second);
      const long long part = number >> part_bits;
      where[k] = (part < 2 ? part == 0 ? part0 : part1 : part == 2 ? part2 : part3) + (number - (part << part_bits));
      before[k] = *where[k];
    }
#pragma unroll
    for (int row = 0; row < 4; ++row) *where[row] = row_times(matrix, row, before);
  }
}

// The state in which all qubits are 0.
extern "C" __global__ void first_state(long long amplitudes, float2* state) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < amplitudes; i += stride) {
    state[i].x = i == 0 ? 1.0f : 0.0f;
    state[i].y = 0.0f;
  }
}
