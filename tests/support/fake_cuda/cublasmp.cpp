// A libcublasmp.so.0 for the fake GPU: the plain reference BLAS, on one process. FAKE_CUBLASMP_VERSION: 600 is too old.
// It ends the process unless NVSHMEM is left out, as the library does where GPUs cannot reach each other.
#include <array>
#include <cstdlib>
#include <span>
#include <vector>

#include "fake_cuda/blas.h"
#include "fake_cuda/communicator.h"
#include "reference_blas.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in cuBLASMp's own words
namespace blas = blastoff::blas;
namespace fake = blastoff::fake_cuda;
using fake::coefficient;
using fake::find_routine;
using fake::transpose;

namespace blastoff::device::gpu::cuda::api {
struct BlasMpHandle {
  CUstream stream;
};
struct BlasMpGrid : fake_cuda::Grid {};
struct BlasMpMatrix : fake_cuda::DistributedMatrix {};
}  // namespace blastoff::device::gpu::cuda::api

namespace {

constexpr cublasMpStatus invalid_value = 3;

blas::Call make_call(blas::Kind kind, blasMpMatrix a, Size m, Size n, Size k, const void* alpha, const void* beta) {
  const blas::Scalar scalar = fake::scalar_of(a->type);
  blas::Call call;
  call.routine = find_routine(kind, scalar);
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = coefficient(alpha, scalar);
  if (beta != nullptr) call.beta = coefficient(beta, scalar);
  return call;
}

struct Part {
  const void* address;
  blasMpMatrix matrix;
};

cublasMpStatus post(blasMpHandle handle, const blas::Call& call, std::initializer_list<Part> parts, const void* device,
                    std::size_t device_bytes) {
  if (!fake::driver().context_is_current() || device == nullptr || device_bytes != 512) return invalid_value;
  if (fake::fails(*parts.begin()->matrix->grid->communicator)) return blas_mp_not_supported;
  std::vector<fake::Share> shares;
  for (const Part& part : parts) shares.push_back({*part.matrix, static_cast<char*>(const_cast<void*>(part.address))});
  fake::post_together(handle->stream, shares, nullptr, [call](std::span<const fake::Share> wholes) {
    blas::Call whole = call;
    std::array<void*, 3> addresses{};
    std::array<std::int64_t, 3> leading_dimensions{};
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      addresses[i] = wholes[i].whole;
      leading_dimensions[i] = wholes[i].matrix.m;
    }
    blas::shape_operands(whole, {addresses.data(), wholes.size()}, {leading_dimensions.data(), wholes.size()});
    blastoff::reference::compute(whole);
    return 0;
  });
  return blas_mp_success;
}

cublasMpStatus size(std::size_t* device_bytes, std::size_t* host_bytes) {
  *device_bytes = 512;
  *host_bytes = 64;
  return blas_mp_success;
}

void set_triangle(blas::Call& call, int side, int fill) {
  call.side = side == side_left ? blas::Side::left : blas::Side::right;
  call.uplo = fill == fill_upper ? blas::Uplo::upper : blas::Uplo::lower;
}

}  // namespace

extern "C" {

cublasMpStatus cublasMpGetVersion(int* version) {
  *version = fake::wanted("FAKE_CUBLASMP_VERSION", 700);
  return blas_mp_success;
}
cublasMpStatus cublasMpCreate(blasMpHandle* handle, CUstream stream) {
  if (fake::wanted("CUBLASMP_DISABLE_NVSHMEM") == 0) std::_Exit(255);
  *handle = new BlasMpHandle{stream};
  return blas_mp_success;
}
cublasMpStatus cublasMpGridCreate(Size rows, Size columns, int, ncclComm communicator, blasMpGrid* grid) {
  *grid = new BlasMpGrid{{communicator, rows, columns}};
  return (*grid)->communicator->wait_for_all() ? blas_mp_success : invalid_value;
}
cublasMpStatus cublasMpMatrixDescriptorCreate(Size m, Size n, Size row_block, Size column_block, Size, Size, Size ld,
                                              int type, blasMpGrid grid, blasMpMatrix* matrix) {
  if (row_block != column_block) return invalid_value;
  *matrix = new BlasMpMatrix{{grid, type, m, n, row_block, ld}};
  return blas_mp_success;
}
cublasMpStatus cublasMpMatrixDescriptorDestroy(blasMpMatrix matrix) {
  delete matrix;
  return blas_mp_success;
}

cublasMpStatus cublasMpGemm_bufferSize(blasMpHandle, int, int, Size, Size, Size, const void*, const void*, Size, Size,
                                       blasMpMatrix, const void*, Size, Size, blasMpMatrix, const void*, void*, Size,
                                       Size, blasMpMatrix, int, std::size_t* device_bytes, std::size_t* host_bytes) {
  return size(device_bytes, host_bytes);
}
cublasMpStatus cublasMpGemm(blasMpHandle handle, int transpose_a, int transpose_b, Size m, Size n, Size k,
                            const void* alpha, const void* a, Size, Size, blasMpMatrix of_a, const void* b, Size, Size,
                            blasMpMatrix of_b, const void* beta, void* c, Size, Size, blasMpMatrix of_c, int,
                            void* device, std::size_t device_bytes, void*, std::size_t) {
  blas::Call call = make_call(blas::Kind::gemm, of_a, m, n, k, alpha, beta);
  call.transpose_a = transpose(transpose_a);
  call.transpose_b = transpose(transpose_b);
  return post(handle, call, {{a, of_a}, {b, of_b}, {c, of_c}}, device, device_bytes);
}
cublasMpStatus cublasMpTrsm_bufferSize(blasMpHandle, int, int, int, int, Size, Size, const void*, const void*, Size,
                                       Size, blasMpMatrix, void*, Size, Size, blasMpMatrix, int,
                                       std::size_t* device_bytes, std::size_t* host_bytes) {
  return size(device_bytes, host_bytes);
}
cublasMpStatus cublasMpTrsm(blasMpHandle handle, int side, int fill, int operation, int diagonal, Size m, Size n,
                            const void* alpha, const void* a, Size, Size, blasMpMatrix of_a, void* b, Size, Size,
                            blasMpMatrix of_b, int, void* device, std::size_t device_bytes, void*, std::size_t) {
  blas::Call call = make_call(blas::Kind::trsm, of_a, m, n, side == side_left ? m : n, alpha, nullptr);
  set_triangle(call, side, fill);
  call.transpose_a = transpose(operation);
  call.diagonal = diagonal == diagonal_unit ? blas::Diagonal::unit : blas::Diagonal::non_unit;
  return post(handle, call, {{a, of_a}, {b, of_b}}, device, device_bytes);
}
cublasMpStatus cublasMpSyrk_bufferSize(blasMpHandle, int, int, Size, Size, const void*, const void*, Size, Size,
                                       blasMpMatrix, const void*, void*, Size, Size, blasMpMatrix, int,
                                       std::size_t* device_bytes, std::size_t* host_bytes) {
  return size(device_bytes, host_bytes);
}
cublasMpStatus cublasMpSyrk(blasMpHandle handle, int fill, int operation, Size n, Size k, const void* alpha,
                            const void* a, Size, Size, blasMpMatrix of_a, const void* beta, void* c, Size, Size,
                            blasMpMatrix of_c, int, void* device, std::size_t device_bytes, void*, std::size_t) {
  blas::Call call = make_call(blas::Kind::syrk, of_a, n, n, k, alpha, beta);
  set_triangle(call, side_left, fill);
  call.transpose_a = transpose(operation);
  return post(handle, call, {{a, of_a}, {c, of_c}}, device, device_bytes);
}
}
