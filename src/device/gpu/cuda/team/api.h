// The part of NCCL, cuSOLVERMp and cuBLASMp that is used here; see device/gpu/cuda/api.h. Compared with the headers of
// cuSOLVERMp 0.7.2, 0.8.0 and 0.9.1, of cuBLASMp 0.7.0, 0.8.1 and 0.10.0, and of NCCL 2.28.9: these functions are the
// same in all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/cuda/cublas/api.h"
#include "device/gpu/cuda/cusolver/api.h"

namespace blastoff::device::gpu::cuda::api {

using ncclResult = int;
using ncclComm = struct NcclCommunicator*;
using solverMpHandle = struct SolverMpHandle*;
using solverMpGrid = struct SolverMpGrid*;
using solverMpMatrix = struct SolverMpMatrix*;
using cublasMpStatus = int;
using blasMpHandle = struct BlasMpHandle*;
using blasMpGrid = struct BlasMpGrid*;
using blasMpMatrix = struct BlasMpMatrix*;

struct ncclUniqueId {
  char internal[128];
};

constexpr ncclResult nccl_success = 0;
constexpr cublasMpStatus blas_mp_success = 0;
constexpr cublasMpStatus blas_mp_not_supported = 7;
constexpr int column_by_column = 0;  // how the members of a grid are numbered, in both libraries
constexpr int compute_32f = 68;
constexpr int compute_64f = 70;

#define BLASTOFF_NCCL_SYMBOLS(X)                                                \
  X(ncclGetVersion, ncclResult(int*))                                           \
  X(ncclGetErrorString, const char*(ncclResult))                                \
  X(ncclGetUniqueId, ncclResult(ncclUniqueId*))                                 \
  X(ncclCommInitRank, ncclResult(ncclComm*, int ranks, ncclUniqueId, int rank)) \
  X(ncclCommAbort, ncclResult(ncclComm))

// `row`, `column`: of the first element, from 1. Work space is counted in bytes.
#define BLASTOFF_CUSOLVERMP_SYMBOLS(X)                                                                                 \
  X(cusolverMpCreate, cusolverStatus(solverMpHandle*, int device, CUstream))                                           \
  X(cusolverMpDestroy, cusolverStatus(solverMpHandle))                                                                 \
  X(cusolverMpGetVersion, cusolverStatus(solverMpHandle, int*))                                                        \
  X(cusolverMpCreateDeviceGrid,                                                                                        \
    cusolverStatus(solverMpHandle, solverMpGrid*, ncclComm, std::int32_t rows, std::int32_t columns, int numbering))   \
  X(cusolverMpCreateMatrixDesc,                                                                                        \
    cusolverStatus(solverMpMatrix*, solverMpGrid, int type, Size m, Size n, Size row_block, Size column_block,         \
                   std::uint32_t first_row, std::uint32_t first_column, Size ld))                                      \
  X(cusolverMpDestroyMatrixDesc, cusolverStatus(solverMpMatrix))                                                       \
  X(cusolverMpPotrf_bufferSize,                                                                                        \
    cusolverStatus(solverMpHandle, int fill, Size n, const void* a, Size row, Size column, solverMpMatrix,             \
                   int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))                              \
  X(cusolverMpPotrf,                                                                                                   \
    cusolverStatus(solverMpHandle, int fill, Size n, void* a, Size row, Size column, solverMpMatrix, int compute_type, \
                   void* device, std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))             \
  X(cusolverMpPotrs_bufferSize,                                                                                        \
    cusolverStatus(solverMpHandle, int fill, Size n, Size right_hand_sides, const void* a, Size row_a, Size column_a,  \
                   solverMpMatrix, const void* b, Size row_b, Size column_b, solverMpMatrix, int compute_type,         \
                   std::size_t* device_bytes, std::size_t* host_bytes))                                                \
  X(cusolverMpPotrs,                                                                                                   \
    cusolverStatus(solverMpHandle, int fill, Size n, Size right_hand_sides, const void* a, Size row_a, Size column_a,  \
                   solverMpMatrix, void* b, Size row_b, Size column_b, solverMpMatrix, int compute_type, void* device, \
                   std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))                           \
  X(cusolverMpGetrf_bufferSize,                                                                                        \
    cusolverStatus(solverMpHandle, Size m, Size n, void* a, Size row, Size column, solverMpMatrix,                     \
                   std::int64_t* pivots, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))        \
  X(cusolverMpGetrf, cusolverStatus(solverMpHandle, Size m, Size n, void* a, Size row, Size column, solverMpMatrix,    \
                                    std::int64_t* pivots, int compute_type, void* device, std::size_t device_bytes,    \
                                    void* host, std::size_t host_bytes, int* info))                                    \
  X(cusolverMpGetrs_bufferSize,                                                                                        \
    cusolverStatus(solverMpHandle, int transpose, Size n, Size right_hand_sides, const void* a, Size row_a,            \
                   Size column_a, solverMpMatrix, const std::int64_t* pivots, void* b, Size row_b, Size column_b,      \
                   solverMpMatrix, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))              \
  X(cusolverMpGetrs, cusolverStatus(solverMpHandle, int transpose, Size n, Size right_hand_sides, const void* a,       \
                                    Size row_a, Size column_a, solverMpMatrix, const std::int64_t* pivots, void* b,    \
                                    Size row_b, Size column_b, solverMpMatrix, int compute_type, void* device,         \
                                    std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))          \
  X(cusolverMpSyevd_bufferSize,                                                                                        \
    cusolverStatus(solverMpHandle, char* job, int fill, Size n, void* a, Size row_a, Size column_a, solverMpMatrix,    \
                   void* values, void* vectors, Size row_z, Size column_z, solverMpMatrix, int compute_type,           \
                   std::size_t* device_bytes, std::size_t* host_bytes))                                                \
  X(cusolverMpSyevd,                                                                                                   \
    cusolverStatus(solverMpHandle, char* job, int fill, Size n, void* a, Size row_a, Size column_a, solverMpMatrix,    \
                   void* values, void* vectors, Size row_z, Size column_z, solverMpMatrix, int compute_type,           \
                   void* device, std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))             \
  X(cusolverMpSygst_bufferSize, cusolverStatus(solverMpHandle, int itype, int fill, Size n, Size row_a, Size column_a, \
                                               solverMpMatrix, Size row_b, Size column_b, solverMpMatrix,              \
                                               int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))  \
  X(cusolverMpSygst,                                                                                                   \
    cusolverStatus(solverMpHandle, int itype, int fill, Size n, void* a, Size row_a, Size column_a, solverMpMatrix,    \
                   const void* b, Size row_b, Size column_b, solverMpMatrix, int compute_type, void* device,           \
                   std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))

#define BLASTOFF_CUBLASMP_SYMBOLS(X)                                                                                   \
  X(cublasMpCreate, cublasMpStatus(blasMpHandle*, CUstream))                                                           \
  X(cublasMpGetVersion, cublasMpStatus(int*))                                                                          \
  X(cublasMpGridCreate, cublasMpStatus(Size rows, Size columns, int numbering, ncclComm, blasMpGrid*))                 \
  X(cublasMpMatrixDescriptorCreate, cublasMpStatus(Size m, Size n, Size row_block, Size column_block, Size first_row,  \
                                                   Size first_column, Size ld, int type, blasMpGrid, blasMpMatrix*))   \
  X(cublasMpMatrixDescriptorDestroy, cublasMpStatus(blasMpMatrix))                                                     \
  X(cublasMpGemm_bufferSize,                                                                                           \
    cublasMpStatus(blasMpHandle, int transpose_a, int transpose_b, Size m, Size n, Size k, const void* alpha,          \
                   const void* a, Size row_a, Size column_a, blasMpMatrix, const void* b, Size row_b, Size column_b,   \
                   blasMpMatrix, const void* beta, void* c, Size row_c, Size column_c, blasMpMatrix, int compute_type, \
                   std::size_t* device_bytes, std::size_t* host_bytes))                                                \
  X(cublasMpGemm,                                                                                                      \
    cublasMpStatus(blasMpHandle, int transpose_a, int transpose_b, Size m, Size n, Size k, const void* alpha,          \
                   const void* a, Size row_a, Size column_a, blasMpMatrix, const void* b, Size row_b, Size column_b,   \
                   blasMpMatrix, const void* beta, void* c, Size row_c, Size column_c, blasMpMatrix, int compute_type, \
                   void* device, std::size_t device_bytes, void* host, std::size_t host_bytes))                        \
  X(cublasMpTrsm_bufferSize,                                                                                           \
    cublasMpStatus(blasMpHandle, int side, int fill, int transpose, int diagonal, Size m, Size n, const void* alpha,   \
                   const void* a, Size row_a, Size column_a, blasMpMatrix, void* b, Size row_b, Size column_b,         \
                   blasMpMatrix, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))                \
  X(cublasMpTrsm, cublasMpStatus(blasMpHandle, int side, int fill, int transpose, int diagonal, Size m, Size n,        \
                                 const void* alpha, const void* a, Size row_a, Size column_a, blasMpMatrix, void* b,   \
                                 Size row_b, Size column_b, blasMpMatrix, int compute_type, void* device,              \
                                 std::size_t device_bytes, void* host, std::size_t host_bytes))                        \
  X(cublasMpSyrk_bufferSize,                                                                                           \
    cublasMpStatus(blasMpHandle, int fill, int transpose, Size n, Size k, const void* alpha, const void* a,            \
                   Size row_a, Size column_a, blasMpMatrix, const void* beta, void* c, Size row_c, Size column_c,      \
                   blasMpMatrix, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))                \
  X(cublasMpSyrk, cublasMpStatus(blasMpHandle, int fill, int transpose, Size n, Size k, const void* alpha,             \
                                 const void* a, Size row_a, Size column_a, blasMpMatrix, const void* beta, void* c,    \
                                 Size row_c, Size column_c, blasMpMatrix, int compute_type, void* device,              \
                                 std::size_t device_bytes, void* host, std::size_t host_bytes))

}  // namespace blastoff::device::gpu::cuda::api
