// The part of cuFFT that is used here; see device/gpu/cuda/api.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/cuda/api.h"

namespace blastoff::device::gpu::cuda::api {

using cufftStatus = int;
using cufftPlan = int;
using FftSize = long long;

constexpr cufftStatus fft_success = 0;
constexpr cufftStatus fft_alloc_failed = 2;
constexpr cufftStatus fft_invalid_type = 3;
constexpr cufftStatus fft_invalid_value = 4;
constexpr cufftStatus fft_invalid_size = 8;
constexpr cufftStatus fft_unaligned_data = 9;
constexpr cufftStatus fft_not_implemented = 14;
constexpr cufftStatus fft_not_supported = 16;

constexpr int fft_c2c = 0x29;
constexpr int fft_r2c = 0x2a;
constexpr int fft_c2r = 0x2c;
constexpr int fft_z2z = 0x69;
constexpr int fft_d2z = 0x6a;
constexpr int fft_z2d = 0x6c;

constexpr int fft_forward = -1;
constexpr int fft_inverse = 1;

#define BLASTOFF_CUFFT_SYMBOLS(X)                                                                                     \
  X(cufftGetProperty, cufftStatus(int, int*))                                                                         \
  X(cufftCreate, cufftStatus(cufftPlan*))                                                                             \
  X(cufftDestroy, cufftStatus(cufftPlan))                                                                             \
  X(cufftSetAutoAllocation, cufftStatus(cufftPlan, int))                                                              \
  X(cufftMakePlanMany64, cufftStatus(cufftPlan, int rank, FftSize* lengths, FftSize* in_embedding, FftSize in_stride, \
                                     FftSize in_distance, FftSize* out_embedding, FftSize out_stride,                 \
                                     FftSize out_distance, int type, FftSize batch, std::size_t* work_bytes))         \
  X(cufftSetStream, cufftStatus(cufftPlan, CUstream))                                                                 \
  X(cufftSetWorkArea, cufftStatus(cufftPlan, void*))                                                                  \
  X(cufftExecC2C, cufftStatus(cufftPlan, void*, void*, int))                                                          \
  X(cufftExecR2C, cufftStatus(cufftPlan, void*, void*))                                                               \
  X(cufftExecC2R, cufftStatus(cufftPlan, void*, void*))                                                               \
  X(cufftExecZ2Z, cufftStatus(cufftPlan, void*, void*, int))                                                          \
  X(cufftExecD2Z, cufftStatus(cufftPlan, void*, void*))                                                               \
  X(cufftExecZ2D, cufftStatus(cufftPlan, void*, void*))

}  // namespace blastoff::device::gpu::cuda::api
