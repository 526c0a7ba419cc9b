#include "device/cuda/cublas/cublas_executor.h"

#include <utility>

#include "blas/front_end.h"
#include "device/cuda/cublas/library.h"
#include "device/cuda/cublas/operations.h"
#include "device/cuda/cublas/triangular_product.h"

namespace blastoff::device::cuda {
namespace {

class CublasExecutor final : public Executor {
 public:
  CublasExecutor(ExecutorStream stream, std::unique_ptr<BlasHandle> handle)
      : stream_(std::move(stream)), handle_(std::move(handle)) {}

  Status execute(const operation::Operation& operation) override {
    const blas::Call call = blas::call_of(operation);
    if (call.conjugated)
      return tl::unexpected(Error{ErrorKind::unsupported, "cuBLAS has no product with the conjugate of a matrix"});
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

  const ExecutorStream stream_;
  const std::unique_ptr<BlasHandle> handle_;
  PooledMemory scratch_;  // for gemmt
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
  return blas::is_blas(operation);
}

Result<std::unique_ptr<ExecutorLibrary>> open_cublas(const LibrarySearch& search) {
  auto cublas = load_cublas(search.cuda_path, search.driver_version);
  if (!cublas) return tl::unexpected(cublas.error());
  return std::make_unique<CublasLibrary>(*cublas);
}

}  // namespace blastoff::device::cuda
