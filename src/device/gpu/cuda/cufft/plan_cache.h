// cuFFT, loaded while the program runs, and its plans for one stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <string>
#include <type_traits>

#include "device/gpu/cuda/cufft/api.h"
#include "device/gpu/cuda/cufft/shape.h"
#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

namespace api {

/// cuFFT's entry points, all set.
struct Cufft {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
};

}  // namespace api

/// The libcufft that fits the driver; see open_library(). Stays loaded for good.
Result<api::Cufft> load_cufft(const LibrarySearch& search);

/// Turns a status into a Status. An error that has destroyed the context loses the device; lack of memory or of support
/// does not.
Status check_fft(api::cufftStatus status, const char* name, const ExecutorStream& stream);

struct FftPlan {
  FftShape shape;
  api::cufftPlan handle = 0;
  std::size_t work_bytes = 0;
};

/// Keeps plans, since making one takes milliseconds. A cuFFT plan serves one thread at a time. The plan that has not
/// been used for longest is dropped first.
class FftPlanCache {
 public:
  static constexpr std::size_t max_plans = 24;

  /// `cufft` must outlive it.
  FftPlanCache(const api::Cufft& cufft, const ExecutorStream& stream) : cufft_(cufft), stream_(stream) {}
  ~FftPlanCache() { clear(); }
  FftPlanCache(const FftPlanCache&) = delete;
  FftPlanCache& operator=(const FftPlanCache&) = delete;

  bool has(const FftShape& shape) const { return std::ranges::find(plans_, shape, &FftPlan::shape) != plans_.end(); }

  /// The result is valid until the next call.
  Result<const FftPlan*> plan_for(const FftShape& shape);

 private:
  Result<FftPlan> make(const FftShape& shape) const;
  Status configure(FftPlan& plan) const;
  void drop_last();
  void clear();

  const api::Cufft& cufft_;
  const ExecutorStream stream_;
  std::list<FftPlan> plans_;  ///< the plan used last comes first
};

}  // namespace blastoff::device::gpu::cuda
