/* The few driver and cuBLAS entry points of the resident loop. They are found at run time, so that building needs no
 * CUDA toolkit. The values are from cuda.h and cublas_v2.h of CUDA 12 and 13. */
#ifndef BLASTOFF_BENCH_CUDA_H
#define BLASTOFF_BENCH_CUDA_H

#include <stddef.h>

typedef unsigned long long DeviceAddress;
typedef void* Stream;
typedef void* Handle; /* cublasHandle_t */

enum { OPERATION_N = 0, OPERATION_T = 1, OPERATION_C = 2 };          /* cublasOperation_t */
enum { SIDE_LEFT = 0, FILL_LOWER = 0, DIAGONAL_NON_UNIT = 0 };       /* cublas{SideMode,FillMode,DiagType}_t */
enum { ATTRIBUTE_COMPUTE_MAJOR = 75, ATTRIBUTE_COMPUTE_MINOR = 76 }; /* CUdevice_attribute */

typedef int GemmFunction(Handle, int transa, int transb, int m, int n, int k, const void* alpha, DeviceAddress a,
                         int lda, DeviceAddress b, int ldb, const void* beta, DeviceAddress c, int ldc);
typedef int SyrkFunction(Handle, int uplo, int trans, int n, int k, const void* alpha, DeviceAddress a, int lda,
                         const void* beta, DeviceAddress c, int ldc);
typedef int TrsmFunction(Handle, int side, int uplo, int trans, int diag, int m, int n, const void* alpha,
                         DeviceAddress a, int lda, DeviceAddress b, int ldb);

struct Cuda {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int length, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_memory)(size_t* bytes, int device);
  int (*retain_context)(void** context, int device);
  int (*set_context)(void* context);
  int (*allocate)(DeviceAddress* address, size_t bytes);
  int (*allocate_managed)(DeviceAddress* address, size_t bytes, unsigned flags);
  int (*free)(DeviceAddress address);
  int (*memory_info)(size_t* available, size_t* total);
  int (*allocate_pinned)(void** address, size_t bytes, unsigned flags);
  int (*free_pinned)(void* address);
  int (*to_device)(DeviceAddress destination, const void* source, size_t bytes, Stream stream);
  int (*to_host)(void* destination, DeviceAddress source, size_t bytes, Stream stream);
  int (*create_stream)(Stream* stream, unsigned flags);
  int (*synchronize)(Stream stream);
  int (*create_handle)(Handle* handle);
  int (*destroy_handle)(Handle handle);
  int (*set_stream)(Handle handle, Stream stream);
  int (*cublas_version)(Handle handle, int* version);
  GemmFunction* gemm[4]; /* in the order s, d, c, z */
  SyrkFunction* syrk[4];
  TrsmFunction* trsm[4];
};

/* Loads libcuda.so.1 and cuBLAS (the file `cublas`; if that is NULL, libcublas.so.13 or .12 from the search path), and
 * makes the primary context of device 0 current. Returns NULL, or the reason for a failure (a static text, or the text
 * of dlerror()). */
const char* open_cuda(struct Cuda* cuda, const char* cublas);

/* Ends the program with status 1 if a driver or cuBLAS call failed. */
void check(int status, const char* what);

#endif
