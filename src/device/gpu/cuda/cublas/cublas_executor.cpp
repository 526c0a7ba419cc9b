#include "device/gpu/cuda/executors.h"

#include <utility>

#include "blas/batch.h"
#include "blas/front_end.h"
#include "blas/vector_call.h"
#include "device/gpu/cuda/cublas/library.h"
#include "device/gpu/cuda/cublas/operations.h"
#include "device/gpu/cuda/cublas/triangular_product.h"
#include "device/gpu/page_memory.h"

namespace blastoff::device::gpu::cuda {
namespace {

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
