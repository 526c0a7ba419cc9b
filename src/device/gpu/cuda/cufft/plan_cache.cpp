#include "device/gpu/cuda/cufft/plan_cache.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {

Status check_fft(api::cufftStatus status, const char* name, const ExecutorStream& stream) {
  if (status == api::fft_success) [[likely]]
    return {};
  auto message = fmt::format("cuFFT's {}: status {}", name, status);
  switch (status) {
    case api::fft_alloc_failed: return tl::unexpected(Error{ErrorKind::out_of_memory, std::move(message)});
    case api::fft_invalid_type:
    case api::fft_invalid_value:
    case api::fft_invalid_size:
    case api::fft_unaligned_data:
    case api::fft_not_implemented:
    case api::fft_not_supported: return tl::unexpected(Error{ErrorKind::unsupported, std::move(message)});
    default: break;
  }
  Context& context = *stream.context;
  if (auto alive = context.check(context.driver().synchronize_stream(stream.stream), name); !alive) return alive;
  return tl::unexpected(Error{ErrorKind::unsupported, std::move(message)});
}

Result<const FftPlan*> FftPlanCache::plan_for(const FftShape& shape) {
  const auto found =
      std::find_if(plans_.begin(), plans_.end(), [&](const FftPlan& plan) { return plan.shape == shape; });
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
    return &plans_.front();
  }
  if (plans_.size() == max_plans) drop_last();
  auto made = make(shape);
  if (!made && made.error().kind == ErrorKind::out_of_memory && !plans_.empty()) {
    clear();
    made = make(shape);
  }
  if (!made) return tl::unexpected(made.error());
  plans_.push_front(*made);
  return &plans_.front();
}

Result<FftPlan> FftPlanCache::make(const FftShape& shape) const {
  FftPlan plan{.shape = shape};
  if (auto ok = check_fft(cufft_.cufftCreate(&plan.handle), "cufftCreate", stream_); !ok)
    return tl::unexpected(ok.error());
  if (auto ok = configure(plan); !ok) {
    cufft_.cufftDestroy(plan.handle);
    return tl::unexpected(ok.error());
  }
  return plan;
}

Status FftPlanCache::configure(FftPlan& plan) const {
  if (auto ok = check_fft(cufft_.cufftSetAutoAllocation(plan.handle, 0), "cufftSetAutoAllocation", stream_); !ok)
    return ok;
  FftShape shape = plan.shape;
  const auto made = cufft_.cufftMakePlanMany64(
      plan.handle, shape.rank, shape.lengths.data(), shape.in_embedding.data(), shape.in_stride, shape.in_distance,
      shape.out_embedding.data(), shape.out_stride, shape.out_distance, shape.type, shape.batch, &plan.work_bytes);
  if (auto ok = check_fft(made, "cufftMakePlanMany64", stream_); !ok) return ok;
  // The default stream copies the plan's tables, and the executor's stream does not wait for it by itself.
  Context& context = *stream_.context;
  if (auto there = context.check(context.driver().synchronize_stream(nullptr), "cuStreamSynchronize"); !there)
    return there;
  return check_fft(cufft_.cufftSetStream(plan.handle, stream_.stream), "cufftSetStream", stream_);
}

// Waits, since queued work may still use the plan's tables.
void FftPlanCache::drop_last() {
  stream_.context->driver().synchronize_stream(stream_.stream);
  cufft_.cufftDestroy(plans_.back().handle);
  plans_.pop_back();
}

void FftPlanCache::clear() {
  while (!plans_.empty()) drop_last();
}

Result<api::Cufft> load_cufft(const LibrarySearch& search) {
  // The number in the file's name is the CUDA version minus one.
  return load_functions<api::Cufft>(
      file_for(search.driver_version, "cuFFT", "libcufft", {12, {}}, "nvidia-cufft", {11, {}}, "nvidia-cufft-cu12"),
      search.directory, "cufftCreate", "cuFFT 11.0 (CUDA 12.0)",
      [](void* library, api::Cufft& functions, const char*& missing) { BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_RESOLVE) });
}

}  // namespace blastoff::device::gpu::cuda
