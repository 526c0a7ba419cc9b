#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct Symbol {
  void* slot;
  const char* name;
};

static const char* resolve(void* library, const struct Symbol* symbols, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    void* address = dlsym(library, symbols[i].name);
    if (!address) return dlerror();
    *(void**)symbols[i].slot = address;
  }
  return NULL;
}

static const char* resolve_driver(struct Cuda* cuda, void* library) {
  const struct Symbol symbols[] = {
      {&cuda->init, "cuInit"},
      {&cuda->driver_version, "cuDriverGetVersion"},
      {&cuda->device_get, "cuDeviceGet"},
      {&cuda->device_name, "cuDeviceGetName"},
      {&cuda->device_attribute, "cuDeviceGetAttribute"},
      {&cuda->device_memory, "cuDeviceTotalMem_v2"},
      {&cuda->retain_context, "cuDevicePrimaryCtxRetain"},
      {&cuda->set_context, "cuCtxSetCurrent"},
      {&cuda->allocate, "cuMemAlloc_v2"},
      {&cuda->allocate_managed, "cuMemAllocManaged"},
      {&cuda->free, "cuMemFree_v2"},
      {&cuda->memory_info, "cuMemGetInfo_v2"},
      {&cuda->allocate_pinned, "cuMemHostAlloc"},
      {&cuda->free_pinned, "cuMemFreeHost"},
      {&cuda->to_device, "cuMemcpyHtoDAsync_v2"},
      {&cuda->to_host, "cuMemcpyDtoHAsync_v2"},
      {&cuda->create_stream, "cuStreamCreate"},
      {&cuda->synchronize, "cuStreamSynchronize"},
  };
  return resolve(library, symbols, sizeof symbols / sizeof *symbols);
}

static const char* resolve_cublas(struct Cuda* cuda, void* library) {
  const struct Symbol symbols[] = {
      {&cuda->create_handle, "cublasCreate_v2"}, {&cuda->destroy_handle, "cublasDestroy_v2"},
      {&cuda->set_stream, "cublasSetStream_v2"}, {&cuda->cublas_version, "cublasGetVersion_v2"},
      {&cuda->gemm[0], "cublasSgemm_v2"},        {&cuda->gemm[1], "cublasDgemm_v2"},
      {&cuda->gemm[2], "cublasCgemm_v2"},        {&cuda->gemm[3], "cublasZgemm_v2"},
      {&cuda->syrk[0], "cublasSsyrk_v2"},        {&cuda->syrk[1], "cublasDsyrk_v2"},
      {&cuda->syrk[2], "cublasCsyrk_v2"},        {&cuda->syrk[3], "cublasZsyrk_v2"},
      {&cuda->trsm[0], "cublasStrsm_v2"},        {&cuda->trsm[1], "cublasDtrsm_v2"},
      {&cuda->trsm[2], "cublasCtrsm_v2"},        {&cuda->trsm[3], "cublasZtrsm_v2"},
  };
  return resolve(library, symbols, sizeof symbols / sizeof *symbols);
}

const char* open_cuda(struct Cuda* cuda, const char* cublas) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return dlerror();
  const char* problem = resolve_driver(cuda, driver);
  if (problem) return problem;
  int device = 0;
  void* context = NULL;
  if (cuda->init(0) || cuda->device_get(&device, 0)) return "the driver reports no GPU";
  if (cuda->retain_context(&context, device) || cuda->set_context(context)) return "the GPU gives no context";
  void* library = dlopen(cublas ? cublas : "libcublas.so.13", RTLD_NOW);
  if (!library && !cublas) library = dlopen("libcublas.so.12", RTLD_NOW);
  if (!library) return dlerror();
  return resolve_cublas(cuda, library);
}

void check(int status, const char* what) {
  if (status == 0) return;
  fprintf(stderr, "%s failed with status %d\n", what, status);
  exit(1);
}
