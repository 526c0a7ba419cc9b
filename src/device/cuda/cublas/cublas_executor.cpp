#include "device/cuda/cublas/cublas_executor.h"

#include <utility>

#include "blas/level3.h"
#include "device/cuda/cublas/library.h"
#include "device/cuda/cublas/operations.h"
#include "device/cuda/cublas/triangular_product.h"

namespace blastoff::device::cuda {
namespace {

class CublasExecutor final : public Executor {
 public:
  CublasExecutor(ExecutorStream stream, std::unique_ptr<BlasHandle> handle)
      : stream_(std::move(stream)), handle_(std::move(handle)) {}
  ~CublasExecutor() override {
    if (scratch_ != 0) driver().cuMemFree_v2(scratch_);
  }

  Status execute(const operation::Operation& operation) override {
    const blas::Call call = blas::call_of(operation);
    return call.kind() == blas::Kind::gemmt ? run_triangular(call) : handle_->run(call);
  }

 private:
  const api::Driver& driver() const { return stream_.context->driver(); }

  Status run_triangular(const blas::Call& call) {
    if (stream_.kernel == nullptr) {
      return tl::unexpected(
          Error{ErrorKind::unsupported, "gemmt needs the triangle copy, which the driver did not compile"});
    }
    if (auto ok = grow_scratch(triangular_product_scratch(call)); !ok) return ok;
    return run_triangular_product(call, *handle_, *stream_.kernel, scratch_, stream_.stream);
  }

  Status grow_scratch(std::size_t bytes) {
    if (bytes <= scratch_bytes_) return {};
    if (scratch_ != 0) driver().cuMemFree_v2(std::exchange(scratch_, 0));  // waits for work that uses it
    scratch_bytes_ = 0;
    auto allocated = stream_.context->check(driver().cuMemAlloc_v2(&scratch_, bytes), "scratch memory of gemmt");
    if (allocated) scratch_bytes_ = bytes;
    return allocated;
  }

  const ExecutorStream stream_;
  const std::unique_ptr<BlasHandle> handle_;
  api::CUdeviceptr scratch_ = 0;
  std::size_t scratch_bytes_ = 0;
};

class CublasLibrary final : public ExecutorLibrary {
 public:
  explicit CublasLibrary(const api::Cublas& cublas) : cublas_(cublas) {}

  std::string version() const override { return version_text(cublas_); }

  Result<std::unique_ptr<Executor>> create(const ExecutorStream& stream) const override {
    auto handle = BlasHandle::create(cublas_, stream.context, stream.stream, stream.workspace_bytes);
    if (!handle) return tl::unexpected(handle.error());
    return std::make_unique<CublasExecutor>(stream, std::move(*handle));
  }

 private:
  const api::Cublas cublas_;
};

}  // namespace

bool runs_by_cublas(const operation::Operation& operation) {
  return blas::is_level3(operation);
}

Result<std::unique_ptr<ExecutorLibrary>> open_cublas(const LibrarySearch& search) {
  auto cublas = load_cublas(search.cuda_path, search.driver_version);
  if (!cublas) return tl::unexpected(cublas.error());
  return std::make_unique<CublasLibrary>(*cublas);
}

}  // namespace blastoff::device::cuda
