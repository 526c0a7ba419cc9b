// The kernels of the experiments with pages.

// Writes every word: the index plus `value`.
extern "C" __global__ void fill(long long words, long long value, long long* data) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += stride) data[i] = i + value;
}

// One thread reads the first word of every step, and notes how many clock ticks each read took and what it saw.
extern "C" __global__ void walk(long long steps, long long words_per_step, const volatile long long* data,
                                long long* ticks, long long* seen) {
  __shared__ volatile long long arrived;
  for (long long i = 0; i < steps; ++i) {
    const long long start = clock64();
    arrived = data[i * words_per_step];  // the store waits for the value, and the clock waits for the store
    ticks[i] = clock64() - start;
    seen[i] = arrived;
  }
}
