// A libcusolverMp.so.0 for the fake GPU: factorizations, solutions and eigenproblems, on one process. It refuses what
// the versions 0.7.2 to 0.9.1 refuse. FAKE_PIVOTS=1: each process gets all pivots, not only those of its columns.
// FAKE_SINGULAR_TOLD=0: the info of an LU factorization is always 0.
#include <algorithm>
#include <span>
#include <vector>

#include "fake_cuda/communicator.h"
#include "fake_cuda/factorizations.h"
#include "fake_cuda/lapack.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in cuSOLVERMp's own words
namespace fake = blastoff::fake_cuda;

namespace blastoff::device::gpu::cuda::api {
struct SolverMpHandle {
  CUstream stream;
};
struct SolverMpGrid : fake_cuda::Grid {};
struct SolverMpMatrix : fake_cuda::DistributedMatrix {};
}  // namespace blastoff::device::gpu::cuda::api

namespace {

using Wholes = std::span<const fake::Share>;

/// Calls work(view...) with views of the first whole matrices, in the type of the first.
template <class Work>
int with_views(Wholes wholes, const Work& work) {
  return fake::with_type(wholes[0].matrix.type, [&]<class T>(T) -> int {
    const auto view = [&](std::size_t i) {
      return fake::View<T>{reinterpret_cast<T*>(wholes[i].whole), wholes[i].matrix.m};
    };
    return work(view(0), wholes.size() > 1 ? view(1) : view(0));
  });
}

fake::Share share(const void* part, solverMpMatrix matrix) {
  return {*matrix, static_cast<char*>(const_cast<void*>(part))};
}

/// The pivots of a matrix: a row, whose elements the processes have that have its columns.
fake::Share pivots_of(solverMpMatrix a, const std::int64_t* own) {
  fake::DistributedMatrix row = *a;
  row.type = type_real_64;  // as long as an integer
  row.m = row.ld = 1;
  row.n = std::min(a->m, a->n);
  return {row, reinterpret_cast<char*>(const_cast<std::int64_t*>(own)), fake::wanted("FAKE_PIVOTS", 0) == 1};
}
std::int64_t* integers(const fake::Share& share) {
  return reinterpret_cast<std::int64_t*>(share.whole);
}

/// What lies outside the triangle is nobody's.
template <class T>
void spoil_other_triangle(fake::View<T> whole, Size n, bool upper) {
  for (Size j = 0; j < n; ++j)
    for (Size i = 0; i < j; ++i) (upper ? whole(j, i) : whole(i, j)) = T(7);
}

cusolverStatus size(std::size_t* device_bytes, std::size_t* host_bytes) {
  *device_bytes = 1024;
  *host_bytes = 64;
  return solver_success;
}

bool is_right(solverMpMatrix a, const void* device, std::size_t device_bytes, const void* host, std::size_t host_bytes,
              const int* info) {
  return !fake::fails(*a->grid->communicator) && fake::driver().context_is_current() && device != nullptr &&
         device_bytes == 1024 && host != nullptr && host_bytes == 64 && info != nullptr;
}

/// Whether a call is for the whole matrix of the descriptor, computed in its type.
bool is_whole(solverMpMatrix matrix, Size m, Size n, Size row, Size column, int compute_type) {
  return matrix->m == m && matrix->n == n && row == 1 && column == 1 && compute_type == matrix->type;
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

cusolverStatus cusolverMpPotrf_bufferSize(solverMpHandle, int, Size n, const void*, Size row, Size column,
                                          solverMpMatrix a, int type, std::size_t* device_bytes,
                                          std::size_t* host_bytes) {
  return is_whole(a, n, n, row, column, type) ? size(device_bytes, host_bytes) : solver_invalid_value;
}
cusolverStatus cusolverMpPotrf(solverMpHandle handle, int fill, Size n, void* a, Size row, Size column,
                               solverMpMatrix of_a, int type, void* device, std::size_t device_bytes, void* host,
                               std::size_t host_bytes, int* info) {
  if (!is_right(of_a, device, device_bytes, host, host_bytes, info) || !is_whole(of_a, n, n, row, column, type))
    return solver_invalid_value;
  fake::post_together(handle->stream, {share(a, of_a)}, info, [=](Wholes wholes) {
    return with_views(wholes, [=](auto whole, auto) {
      const int failed_at = fake::factor_cholesky(whole, n, fill == fill_upper);
      spoil_other_triangle(whole, n, fill == fill_upper);
      return failed_at;
    });
  });
  return solver_success;
}

cusolverStatus cusolverMpPotrs_bufferSize(solverMpHandle, int, Size n, Size columns, const void*, Size row_a,
                                          Size column_a, solverMpMatrix a, const void*, Size row_b, Size column_b,
                                          solverMpMatrix b, int type, std::size_t* device_bytes,
                                          std::size_t* host_bytes) {
  const bool right = is_whole(a, n, n, row_a, column_a, type) && is_whole(b, n, columns, row_b, column_b, type);
  return right ? size(device_bytes, host_bytes) : solver_invalid_value;
}
cusolverStatus cusolverMpPotrs(solverMpHandle handle, int fill, Size n, Size columns, const void* a, Size row_a,
                               Size column_a, solverMpMatrix of_a, void* b, Size row_b, Size column_b,
                               solverMpMatrix of_b, int type, void* device, std::size_t device_bytes, void* host,
                               std::size_t host_bytes, int* info) {
  if (!is_right(of_a, device, device_bytes, host, host_bytes, info) || !is_whole(of_a, n, n, row_a, column_a, type) ||
      !is_whole(of_b, n, columns, row_b, column_b, type))
    return solver_invalid_value;
  fake::post_together(handle->stream, {share(a, of_a), share(b, of_b)}, info, [=](Wholes wholes) {
    return with_views(wholes, [=](auto factors, auto x) {
      fake::solve_cholesky(factors, n, fill == fill_upper, x, columns);
      return 0;
    });
  });
  return solver_success;
}

cusolverStatus cusolverMpGetrf_bufferSize(solverMpHandle, Size m, Size n, void*, Size row, Size column,
                                          solverMpMatrix a, std::int64_t* pivots, int type, std::size_t* device_bytes,
                                          std::size_t* host_bytes) {
  return pivots != nullptr && is_whole(a, m, n, row, column, type) ? size(device_bytes, host_bytes)
                                                                   : solver_invalid_value;
}
cusolverStatus cusolverMpGetrf(solverMpHandle handle, Size m, Size n, void* a, Size row, Size column,
                               solverMpMatrix of_a, std::int64_t* pivots, int type, void* device,
                               std::size_t device_bytes, void* host, std::size_t host_bytes, int* info) {
  if (!is_right(of_a, device, device_bytes, host, host_bytes, info) || pivots == nullptr ||
      !is_whole(of_a, m, n, row, column, type))
    return solver_invalid_value;
  const auto compute = [=](Wholes wholes) {
    const int singular = with_views(
        wholes.first(1), [&](auto whole, auto) { return fake::factor_lu(whole, m, n, integers(wholes[1])); });
    return fake::wanted("FAKE_SINGULAR_TOLD", 1) == 1 ? singular : 0;
  };
  fake::post_together(handle->stream, {share(a, of_a), pivots_of(of_a, pivots)}, info, compute, 2);
  return solver_success;
}

cusolverStatus cusolverMpGetrs_bufferSize(solverMpHandle, int operation, Size n, Size columns, const void*, Size row_a,
                                          Size column_a, solverMpMatrix a, const std::int64_t* pivots, void*,
                                          Size row_b, Size column_b, solverMpMatrix b, int type,
                                          std::size_t* device_bytes, std::size_t* host_bytes) {
  const bool right = operation == operation_none && pivots != nullptr && is_whole(a, n, n, row_a, column_a, type) &&
                     is_whole(b, n, columns, row_b, column_b, type);
  return right ? size(device_bytes, host_bytes) : solver_invalid_value;
}
cusolverStatus cusolverMpGetrs(solverMpHandle handle, int operation, Size n, Size columns, const void* a, Size row_a,
                               Size column_a, solverMpMatrix of_a, const std::int64_t* pivots, void* b, Size row_b,
                               Size column_b, solverMpMatrix of_b, int type, void* device, std::size_t device_bytes,
                               void* host, std::size_t host_bytes, int* info) {
  if (!is_right(of_a, device, device_bytes, host, host_bytes, info) || operation != operation_none ||
      pivots == nullptr || !is_whole(of_a, n, n, row_a, column_a, type) ||
      !is_whole(of_b, n, columns, row_b, column_b, type))
    return solver_invalid_value;
  fake::post_together(
      handle->stream, {share(a, of_a), share(b, of_b), pivots_of(of_a, pivots)}, info,
      [=](Wholes wholes) {
        return with_views(wholes.first(2), [&](auto factors, auto x) {
          fake::solve_lu(factors, n, integers(wholes[2]), operation, x, columns);
          return 0;
        });
      },
      2);
  return solver_success;
}

cusolverStatus cusolverMpSyevd_bufferSize(solverMpHandle, char* job, int fill, Size n, void*, Size row_a, Size column_a,
                                          solverMpMatrix a, void*, void*, Size row_z, Size column_z, solverMpMatrix z,
                                          int type, std::size_t* device_bytes, std::size_t* host_bytes) {
  const bool right = *job == 'V' && fill == fill_lower && is_whole(a, n, n, row_a, column_a, type) &&
                     is_whole(z, n, n, row_z, column_z, type);
  return right ? size(device_bytes, host_bytes) : solver_invalid_value;
}
cusolverStatus cusolverMpSyevd(solverMpHandle handle, char* job, int fill, Size n, void* a, Size row_a, Size column_a,
                               solverMpMatrix of_a, void* values, void* z, Size row_z, Size column_z,
                               solverMpMatrix of_z, int type, void* device, std::size_t device_bytes, void* host,
                               std::size_t host_bytes, int* info) {
  if (!is_right(of_a, device, device_bytes, host, host_bytes, info) || *job != 'V' || fill != fill_lower ||
      !is_whole(of_a, n, n, row_a, column_a, type) || !is_whole(of_z, n, n, row_z, column_z, type) || a == z)
    return solver_invalid_value;
  fake::DistributedMatrix column = *of_a;
  const bool single = fake::element_bytes(type) == 4 || type == type_complex_32;
  column.type = single ? type_real_32 : type_real_64;
  column.n = 1;
  column.ld = n;
  fake::post_together(
      handle->stream, {share(a, of_a), share(z, of_z), {column, static_cast<char*>(values), true}}, info,
      [=](Wholes wholes) {
        std::memcpy(wholes[1].whole, wholes[0].whole, wholes[0].matrix.bytes());
        int found = 0;
        fake::run_syevd(type, with_vectors, fill, n, wholes[1].whole, n, wholes[2].whole, &found);
        return found;
      },
      2);
  return solver_success;
}

cusolverStatus cusolverMpSygst_bufferSize(solverMpHandle, int itype, int fill, Size n, Size row_a, Size column_a,
                                          solverMpMatrix a, Size row_b, Size column_b, solverMpMatrix b, int type,
                                          std::size_t* device_bytes, std::size_t* host_bytes) {
  const bool right = itype == 1 && fill == fill_lower && is_whole(a, n, n, row_a, column_a, type) &&
                     is_whole(b, n, n, row_b, column_b, type);
  return right ? size(device_bytes, host_bytes) : solver_invalid_value;
}
cusolverStatus cusolverMpSygst(solverMpHandle handle, int itype, int fill, Size n, void* a, Size row_a, Size column_a,
                               solverMpMatrix of_a, const void* b, Size row_b, Size column_b, solverMpMatrix of_b,
                               int type, void* device, std::size_t device_bytes, void* host, std::size_t host_bytes,
                               int* info) {
  if (!is_right(of_a, device, device_bytes, host, host_bytes, info) || itype != 1 || fill != fill_lower ||
      !is_whole(of_a, n, n, row_a, column_a, type) || !is_whole(of_b, n, n, row_b, column_b, type))
    return solver_invalid_value;
  fake::post_together(handle->stream, {share(b, of_b), share(a, of_a)}, info, [=](Wholes wholes) {
    return with_views(wholes, [=](auto lower, auto of) {
      for (Size j = 0; j < n; ++j)
        for (Size i = 0; i < j; ++i) of(i, j) = fake::conjugate(of(j, i));
      // A becomes inv(L) A, then inv(L) of its adjoint.
      using T = std::remove_reference_t<decltype(of(0, 0))>;
      fake::solve_triangle<T>(lower, true, of, n, n);
      for (Size j = 0; j < n; ++j) {
        for (Size i = 0; i < j; ++i) {
          const T above = of(i, j);
          of(i, j) = fake::conjugate(of(j, i));
          of(j, i) = fake::conjugate(above);
        }
        of(j, j) = fake::conjugate(of(j, j));
      }
      fake::solve_triangle<T>(lower, true, of, n, n);
      return 0;
    });
  });
  return solver_success;
}
}
