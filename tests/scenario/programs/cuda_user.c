// A program that calls BLAS and uses CUDA itself: it copies from the device into matrices that were results, and
// page-locks them. `late`: it multiplies before it begins to use CUDA.
#include <dlfcn.h>
#include <stdint.h>

#include "scenario.h"

typedef int (*Init)(unsigned flags);
typedef int (*Retain)(void** context, int device);
typedef int (*Push)(void* context);
typedef int (*Allocate)(uint64_t* address, size_t bytes);
typedef int (*Upload)(uint64_t to, const void* from, size_t bytes, void* stream);
typedef int (*Download)(void* to, uint64_t from, size_t bytes, void* stream);
typedef int (*MakeStream)(void** stream, unsigned flags);
typedef int (*Synchronize)(void* stream);
typedef int (*Register)(void* address, size_t bytes, unsigned flags);
typedef int (*Unregister)(void* address);

static struct {
  Init cuInit;
  Retain cuDevicePrimaryCtxRetain;
  Push cuCtxPushCurrent_v2;
  Allocate cuMemAlloc_v2;
  Upload cuMemcpyHtoDAsync_v2;
  Download cuMemcpyDtoHAsync_v2;
  MakeStream cuStreamCreate;
  Synchronize cuStreamSynchronize;
  Register cuMemHostRegister_v2;
  Unregister cuMemHostUnregister;
} cuda;

enum { n = 256 };
static const size_t bytes = sizeof(double) * n * n;
static double *a, *c, *identity, *product;

static void* symbol(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (!found) {
    fprintf(stderr, "no %s\n", name);
    exit(77);
  }
  return found;
}

static void open_cuda(void) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(77);
  }
#define RESOLVE(name) *(void**)&cuda.name = symbol(library, #name)
  RESOLVE(cuInit);
  RESOLVE(cuDevicePrimaryCtxRetain);
  RESOLVE(cuCtxPushCurrent_v2);
  RESOLVE(cuMemAlloc_v2);
  RESOLVE(cuMemcpyHtoDAsync_v2);
  RESOLVE(cuMemcpyDtoHAsync_v2);
  RESOLVE(cuStreamCreate);
  RESOLVE(cuStreamSynchronize);
  RESOLVE(cuMemHostRegister_v2);
  RESOLVE(cuMemHostUnregister);
}

static void succeed(const char* what, int error) {
  verdict(what, error == 0);
  if (error) fprintf(stderr, "%s: error %d\n", what, error);
}

/// A page-aligned matrix, so that page-locking covers nothing else.
static double* matrix(void) {
  double* const values = aligned_alloc(65536, bytes);
  if (!values) abort();
  return values;
}

/// Computes c = a so often that the result's memory is page-locked, if Blastoff does that here.
static void make_result(void) {
  for (int i = 0; i < 4; ++i) multiply(n, n, n, a, n, identity, n, 0, c, n);
}

/// Whether a product reads the present contents of `values`.
static int read_by_a_product(const double* values) {
  multiply(n, n, n, values, n, identity, n, 0, product, n);
  return memcmp(product, values, bytes) == 0;
}

int main(int argc, char** argv) {
  const int late = argc > 1 && strcmp(argv[1], "late") == 0;
  a = matrix(), c = matrix(), identity = matrix(), product = matrix();
  fill(a, n * n, 1);
  memset(identity, 0, bytes);
  for (int i = 0; i < n; ++i) identity[i + i * n] = 1;
  if (late) make_result();

  open_cuda();
  void *context = NULL, *stream = NULL;
  uint64_t device = 0;
  double* const other = matrix();
  fill(other, n * n, 2);
  succeed("initialised", cuda.cuInit(0));
  succeed("context", cuda.cuDevicePrimaryCtxRetain(&context, 0));
  succeed("current", cuda.cuCtxPushCurrent_v2(context));
  succeed("stream", cuda.cuStreamCreate(&stream, 1 /* non-blocking */));
  succeed("allocated", cuda.cuMemAlloc_v2(&device, bytes));
  succeed("uploaded", cuda.cuMemcpyHtoDAsync_v2(device, other, bytes, stream));
  succeed("arrived", cuda.cuStreamSynchronize(stream));

  for (int round = 0; round < 3; ++round) {
    make_result();
    verdict("the result is read", read_by_a_product(c));
    succeed("copied into the result", cuda.cuMemcpyDtoHAsync_v2(c, device, bytes, stream));
    succeed("copy arrived", cuda.cuStreamSynchronize(stream));
    verdict("the copy is there", memcmp(c, other, bytes) == 0);
    verdict("the copy is read", read_by_a_product(c));
  }
  make_result();
  succeed("result page-locked by the program", cuda.cuMemHostRegister_v2(c, bytes, 0));
  verdict("page-locked memory is read", read_by_a_product(c));
  for (int round = 0; round < 3; ++round) {
    memset(c, round, bytes);
    verdict("page-locked memory written by the CPU is read", read_by_a_product(c));
    succeed("copied into page-locked memory", cuda.cuMemcpyDtoHAsync_v2(c, device, bytes, stream));
    succeed("copy arrived", cuda.cuStreamSynchronize(stream));
    verdict("the copy into page-locked memory is read", read_by_a_product(c));
  }
  succeed("page-locking ended", cuda.cuMemHostUnregister(c));
  make_result();
  verdict("the result is read again", read_by_a_product(c));
  return scenario_status();
}
