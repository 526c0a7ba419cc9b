#include "device/gpu/cuda/executors.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "blas/batch.h"
#include "blas/call.h"
#include "blas/front_end.h"
#include "blas/vector_call.h"
#include "device/gpu/cuda/cublas/library.h"
#include "device/gpu/cuda/cublas/operations.h"
#include "device/gpu/matrix_kernels.h"
#include "device/gpu/page_memory.h"

namespace blastoff::device::gpu::cuda {
namespace {

// gemmt, which cuBLAS does not have: a general product that writes only one triangle of C.

/// Largest order of a square on the diagonal.
constexpr std::int64_t largest_diagonal_square = 512;

using blas::Call;
using blas::Operand;
using blas::Transpose;

Address address_of(const Operand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.address);
}

/// The part of the operand that begins at element (row, column).
Operand from(Operand operand, std::int64_t row, std::int64_t column) {
  operand.address = static_cast<unsigned char*>(operand.address) +
                    static_cast<std::size_t>(row + column * operand.leading_dimension) * operand.element_size;
  return operand;
}

blas::Routine general_product(blas::Scalar scalar) {
  switch (scalar) {
    case blas::Scalar::s: return blas::Routine::sgemm;
    case blas::Scalar::d: return blas::Routine::dgemm;
    case blas::Scalar::c: return blas::Routine::cgemm;
    case blas::Scalar::z: break;
  }
  return blas::Routine::zgemm;
}

/// The product of rows [row, row + rows) of op(A) and columns [column, column + columns) of op(B). Its result goes to
/// that block of C, unless the caller changes it.
Call block(const Call& call, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  Call product = call;
  product.routine = general_product(call.scalar());
  product.m = rows;
  product.n = columns;
  auto& [a, b, c] = product.operand_storage;
  a = call.transpose_a == Transpose::none ? from(a, row, 0) : from(a, 0, row);
  b = call.transpose_b == Transpose::none ? from(b, 0, column) : from(b, column, 0);
  c = from(c, row, column);
  return product;
}

std::int64_t square_order(const Call& call) {
  return std::min(call.n, std::clamp<std::int64_t>(call.n / 8 / 64 * 64, 128, largest_diagonal_square));
}

/// Bytes of device memory that a gemmt needs besides its operands.
std::size_t triangular_product_scratch(const Call& call) {
  const auto order = static_cast<std::size_t>(square_order(call));
  return order * order * call.result().element_size;
}

/// Queues a gemmt as gemms of column panels. Blocks off the diagonal are computed directly in C. Each square on the
/// diagonal is computed completely in `scratch`, and its triangle is copied to C. The context must be current.
Status run_triangular_product(const Call& call, const BlasHandle& handle, const TriangleKernel& kernel, Address scratch,
                              StreamHandle stream) {
  const auto order = square_order(call);
  const auto part = call.uplo == blas::Uplo::upper ? blas::Part::upper : blas::Part::lower;
  for (std::int64_t column = 0; column < call.n; column += order) {
    const auto columns = std::min(order, call.n - column);
    const auto off_row = part == blas::Part::upper ? 0 : column + columns;
    const auto off_rows = part == blas::Part::upper ? column : call.n - off_row;
    if (off_rows > 0) {
      if (auto ok = handle.run(block(call, off_row, off_rows, column, columns)); !ok) return ok;
    }
    auto square = block(call, column, columns, column, columns);
    auto& c = square.result();
    const TriangleCopy copy{
        address_of(c), scratch, c.stride_bytes(), static_cast<std::size_t>(columns) * c.element_size,
        columns,       columns, c.element_size,   part};
    if (call.beta != blas::Coefficient{}) {
      // The other triangle of the scratch square holds arbitrary values, which do no harm: no element of a gemm's C
      // depends on another.
      TriangleCopy fetch = copy;
      std::swap(fetch.destination, fetch.source);
      std::swap(fetch.destination_pitch, fetch.source_pitch);
      if (auto ok = kernel.launch(fetch, stream); !ok) return ok;
    }
    c.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(scratch));
    c.leading_dimension = columns;
    if (auto ok = handle.run(square); !ok) return ok;
    if (auto ok = kernel.launch(copy, stream); !ok) return ok;
  }
  return {};
}

class CublasExecutor final : public Executor {
 public:
  CublasExecutor(ExecutorStream stream, std::unique_ptr<BlasHandle> handle)
      : stream_(std::move(stream)), handle_(std::move(handle)) {}

  Status execute(const operation::Operation& operation) override {
    if (blas::is_vector_call(operation)) return handle_->run(blas::vector_call_of(operation));
    const blas::Call call = blas::call_of(operation);
    if (call.conjugated)
      return tl::unexpected(Error{ErrorKind::unsupported, "cuBLAS has no product with the conjugate of a matrix"});
    if (blas::is_solve_batch(call.kind())) return run_solves(call);
    return call.kind() == blas::Kind::gemmt ? run_triangular(call) : handle_->run(call);
  }

  bool copies_heap_memory(const operation::Operation&) const override { return false; }

 private:
  Status run_triangular(const blas::Call& call) {
    if (stream_.kernel == nullptr) {
      return tl::unexpected(
          Error{ErrorKind::unsupported, "gemmt needs the triangle copy, which the driver did not compile"});
    }
    if (auto ok = stream_.memory->grow(scratch_, triangular_product_scratch(call), stream_.stream); !ok) return ok;
    return run_triangular_product(call, *handle_, *stream_.kernel, scratch_.address(), stream_.stream);
  }

  /// cuBLAS's batched solve is meant for matrices that are too small to fill a GPU one by one.
  Status run_solves(const blas::Call& batch) {
    constexpr double fills_the_device = 512.0 * 512 * 512;
    if (blas::volume(batch) < fills_the_device * static_cast<double>(batch.products)) return run_small_solves(batch);
    for (std::int64_t i = 0; i < batch.products; ++i)
      if (auto ok = handle_->run(blas::one_product(batch, i)); !ok) return ok;
    return {};
  }

  Status run_small_solves(const blas::Call& batch) {
    const auto solves = static_cast<std::size_t>(batch.products);
    const std::size_t bytes = 2 * solves * sizeof(void*);
    if (auto ok = stream_.memory->grow(scratch_, bytes, stream_.stream); !ok) return ok;
    if (addresses_.bytes() < bytes) addresses_ = PageMemory(bytes);
    auto* const addresses = static_cast<void**>(addresses_.address());
    if (addresses == nullptr)
      return tl::unexpected(Error{ErrorKind::unsupported, "no host memory for the addresses of a batch"});
    for (std::size_t operand = 0; operand < 2; ++operand) {
      const blas::Matrices all = blas::matrices(batch, operand);
      for (std::size_t i = 0; i < solves; ++i)
        addresses[operand * solves + i] =
            blas::element_address(all.first, static_cast<std::int64_t>(i) * all.stride, 0);
    }
    auto& context = *stream_.context;
    const auto& driver = context.driver();
    auto sent =
        context.check(driver.copy_to_device(scratch_.address(), addresses, bytes, stream_.stream), "copy to the GPU");
    // The pages may once have been page-locked for a matrix. Then the copy above does not wait.
    if (sent) sent = context.check(driver.synchronize_stream(stream_.stream), "cuStreamSynchronize");
    return sent ? handle_->run_solves(batch, scratch_.address()) : sent;
  }

  const ExecutorStream stream_;
  const std::unique_ptr<BlasHandle> handle_;
  PooledMemory scratch_;  // for gemmt, and for the addresses of a batch of solves
  PageMemory addresses_;
};

class CublasLibrary final : public ExecutorLibrary {
 public:
  explicit CublasLibrary(const api::Cublas& cublas) : cublas_(cublas) {}

  std::string version() const override { return version_text(cublas_); }

  Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const override {
    auto handle = BlasHandle::create(cublas_, stream);
    if (!handle) return tl::unexpected(handle.error());
    return std::make_unique<CublasExecutor>(stream, std::move(*handle));
  }

 private:
  const api::Cublas cublas_;
};

}  // namespace

bool runs_by_cublas(const operation::Operation& operation) {
  return blas::is_blas(operation) || blas::is_vector_call(operation);
}

Result<std::unique_ptr<ExecutorLibrary>> open_cublas(const LibrarySearch& search) {
  auto cublas = load_cublas(search.directory, search.driver_version);
  if (!cublas) return tl::unexpected(cublas.error());
  return std::make_unique<CublasLibrary>(*cublas);
}

}  // namespace blastoff::device::gpu::cuda
