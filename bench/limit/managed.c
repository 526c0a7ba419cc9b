/* A working set of matrices that is used repeatedly (programs/working_set.h), by cuBLAS on managed memory. The program
 * occupies the GPU's memory except for BUDGET MiB.
 *
 *   managed [--cublas FILE] BUDGET ORDER MEBIBYTES ROUNDS
 *
 * Ends with status 69 and one line on stderr if there is no GPU or no cuBLAS. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "working_set.h"

enum { NO_GPU = 69 /* EX_UNAVAILABLE */, ATTACH_GLOBAL = 1 /* CU_MEM_ATTACH_GLOBAL */ };

static struct Cuda cuda;
static Handle handle;
static Stream stream;

static double* allocate_managed(size_t bytes) {
  DeviceAddress address = 0;
  check(cuda.allocate_managed(&address, bytes, ATTACH_GLOBAL), "allocating managed memory");
  return (double*)(uintptr_t)address;
}

static void occupy_all_but(size_t bytes) {
  size_t available = 0, total = 0;
  DeviceAddress ballast = 0;
  check(cuda.memory_info(&available, &total), "asking for free memory");
  if (available > bytes) check(cuda.allocate(&ballast, available - bytes), "occupying device memory");
}

static void multiply(int order, const double* a, const double* b, double* c) {
  static const double one = 1, zero = 0;
  check(cuda.gemm[1](handle, OPERATION_N, OPERATION_N, order, order, order, &one, (DeviceAddress)(uintptr_t)a, order,
                     (DeviceAddress)(uintptr_t)b, order, &zero, (DeviceAddress)(uintptr_t)c, order),
        "dgemm");
  check(cuda.synchronize(stream), "waiting for the GPU");
}

int main(int count, char** arguments) {
  const char* cublas = NULL;
  if (count > 2 && strcmp(arguments[1], "--cublas") == 0) {
    cublas = arguments[2];
    count -= 2;
    arguments += 2;
  }
  if (count != 5) fail("usage: managed [--cublas FILE] BUDGET ORDER MEBIBYTES ROUNDS");
  struct WorkingSet set = parse_working_set(arguments[2], arguments[3], arguments[4]);
  const char* problem = open_cuda(&cuda, cublas);
  if (problem) {
    fprintf(stderr, "managed: %s\n", problem);
    return NO_GPU;
  }
  check(cuda.create_stream(&stream, 1 /* CU_STREAM_NON_BLOCKING */), "creating a stream");
  check(cuda.create_handle(&handle), "cublasCreate");
  check(cuda.set_stream(handle, stream), "cublasSetStream");
  const size_t bytes = matrix_elements(&set) * sizeof(double);
  set.a = allocate_managed(set.pairs * bytes);
  set.b = allocate_managed(set.pairs * bytes);
  set.c = allocate_managed(bytes);
  fill_working_set(&set);
  multiply(set.order, set.a, set.b, set.c); /* loads the kernel, and makes cuBLAS allocate its workspace */
  occupy_all_but(strtoul(arguments[1], NULL, 10) << 20);
  go_through("managed", &set, multiply);
}
