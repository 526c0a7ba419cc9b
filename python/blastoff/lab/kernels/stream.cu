// The four loops of STREAM.
#define STREAM_LOOP(body)                                     \
  const long long stride = (long long)gridDim.x * blockDim.x; \
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) body

extern "C" __global__ void stream_copy(long long n, const double* a, double* c) {
  STREAM_LOOP(c[i] = a[i];)
}

extern "C" __global__ void stream_mul(long long n, double s, const double* c, double* b) {
  STREAM_LOOP(b[i] = s * c[i];)
}

extern "C" __global__ void stream_add(long long n, const double* a, const double* b, double* c) {
  STREAM_LOOP(c[i] = a[i] + b[i];)
}

extern "C" __global__ void stream_triad(long long n, double s, const double* b, const double* c, double* a) {
  STREAM_LOOP(a[i] = b[i] + s * c[i];)
}
