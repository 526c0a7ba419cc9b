// A libcusolverMp.so.0 for the fake GPU: Cholesky's factorization, on one process.
#include <array>
#include <complex>
#include <span>
#include <vector>

#include "fake_cuda/blas.h"
#include "fake_cuda/cholesky.h"
#include "fake_cuda/communicator.h"
#include "reference_blas.h"

using namespace blastoff::device::cuda::api;  // NOLINT: this file is written in cuSOLVERMp's own words
namespace blas = blastoff::blas;
namespace fake = blastoff::fake_cuda;

namespace blastoff::device::cuda::api {
struct SolverMpHandle {
  CUstream stream;
};
struct SolverMpGrid : fake_cuda::Grid {};
struct SolverMpMatrix : fake_cuda::DistributedMatrix {};
}  // namespace blastoff::device::cuda::api

namespace {

int factor(const fake::Share& a, bool upper) {
  const Size n = a.matrix.n;
  switch (fake::scalar_of(a.matrix.type)) {
    case blas::Scalar::s: return fake::factor_cholesky<float>({reinterpret_cast<float*>(a.whole), n}, n, upper);
    case blas::Scalar::d: return fake::factor_cholesky<double>({reinterpret_cast<double*>(a.whole), n}, n, upper);
    case blas::Scalar::c:
      return fake::factor_cholesky<std::complex<float>>({reinterpret_cast<std::complex<float>*>(a.whole), n}, n, upper);
    case blas::Scalar::z:
      return fake::factor_cholesky<std::complex<double>>({reinterpret_cast<std::complex<double>*>(a.whole), n}, n,
                                                         upper);
  }
  return 0;
}

void solve_triangle(std::span<const fake::Share> wholes, bool upper, bool adjoint) {
  const blas::Scalar scalar = fake::scalar_of(wholes[0].matrix.type);
  blas::Call call;
  call.routine = fake::find_routine(blas::Kind::trsm, scalar);
  call.m = call.k = wholes[1].matrix.m;
  call.n = wholes[1].matrix.n;
  call.alpha = 1;
  call.uplo = upper ? blas::Uplo::upper : blas::Uplo::lower;
  if (adjoint) call.transpose_a = blas::is_complex(scalar) ? blas::Transpose::conjugate : blas::Transpose::transpose;
  const std::array<void*, 2> addresses{wholes[0].whole, wholes[1].whole};
  const std::array<std::int64_t, 2> leading_dimensions{wholes[0].matrix.m, wholes[1].matrix.m};
  blas::shape_operands(call, addresses, leading_dimensions);
  blastoff::reference::compute(call);
}

fake::Share share(const void* part, solverMpMatrix matrix) {
  return {*matrix, static_cast<char*>(const_cast<void*>(part))};
}

cusolverStatus size(std::size_t* device_bytes, std::size_t* host_bytes) {
  *device_bytes = 1024;
  *host_bytes = 0;
  return solver_success;
}

bool is_right(solverMpMatrix a, const void* device, std::size_t device_bytes, const int* info) {
  return !fake::fails(*a->grid->communicator) && fake::driver().context_is_current() && device != nullptr &&
         device_bytes == 1024 && info != nullptr;
}

}  // namespace

extern "C" {

cusolverStatus cusolverMpSetMathMode(solverMpHandle, int) {
  return solver_success;
}
cusolverStatus cusolverMpCreate(solverMpHandle* handle, int, CUstream stream) {
  *handle = new SolverMpHandle{stream};
  return solver_success;
}
cusolverStatus cusolverMpDestroy(solverMpHandle handle) {
  delete handle;
  return solver_success;
}
cusolverStatus cusolverMpGetVersion(solverMpHandle handle, int* version) {
  if (handle == nullptr) return solver_invalid_value;
  *version = 702;
  return solver_success;
}
cusolverStatus cusolverMpCreateDeviceGrid(solverMpHandle, solverMpGrid* grid, ncclComm communicator, std::int32_t rows,
                                          std::int32_t columns, int) {
  *grid = new SolverMpGrid{{communicator, rows, columns}};
  return (*grid)->communicator->wait_for_all() ? solver_success : solver_invalid_value;
}
cusolverStatus cusolverMpCreateMatrixDesc(solverMpMatrix* matrix, solverMpGrid grid, int type, Size m, Size n,
                                          Size row_block, Size column_block, std::uint32_t, std::uint32_t, Size ld) {
  if (row_block != column_block) return solver_invalid_value;
  *matrix = new SolverMpMatrix{{grid, type, m, n, row_block, ld}};
  return solver_success;
}
cusolverStatus cusolverMpDestroyMatrixDesc(solverMpMatrix matrix) {
  delete matrix;
  return solver_success;
}

cusolverStatus cusolverMpPotrf_bufferSize(solverMpHandle, int, Size, const void*, Size, Size, solverMpMatrix, int,
                                          std::size_t* device_bytes, std::size_t* host_bytes) {
  return size(device_bytes, host_bytes);
}
cusolverStatus cusolverMpPotrf(solverMpHandle handle, int fill, Size, void* a, Size, Size, solverMpMatrix matrix, int,
                               void* device, std::size_t device_bytes, void*, std::size_t, int* info) {
  if (!is_right(matrix, device, device_bytes, info)) return solver_invalid_value;
  fake::post_together(handle->stream, {share(a, matrix)}, info,
                      [fill](std::span<const fake::Share> wholes) { return factor(wholes[0], fill == fill_upper); });
  return solver_success;
}
cusolverStatus cusolverMpPotrs_bufferSize(solverMpHandle, int, Size, Size, const void*, Size, Size, solverMpMatrix,
                                          const void*, Size, Size, solverMpMatrix, int, std::size_t* device_bytes,
                                          std::size_t* host_bytes) {
  return size(device_bytes, host_bytes);
}
cusolverStatus cusolverMpPotrs(solverMpHandle handle, int fill, Size, Size, const void* a, Size, Size,
                               solverMpMatrix of_a, void* b, Size, Size, solverMpMatrix of_b, int, void* device,
                               std::size_t device_bytes, void*, std::size_t, int* info) {
  if (!is_right(of_a, device, device_bytes, info)) return solver_invalid_value;
  fake::post_together(handle->stream, {share(a, of_a), share(b, of_b)}, info,
                      [fill](std::span<const fake::Share> wholes) {
                        const bool upper = fill == fill_upper;
                        solve_triangle(wholes, upper, upper);
                        solve_triangle(wholes, upper, !upper);
                        return 0;
                      });
  return solver_success;
}
}
