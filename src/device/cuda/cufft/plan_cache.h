// cuFFT's plans for one stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>

#include "device/cuda/cufft/library.h"
#include "device/cuda/cufft/shape.h"

namespace blastoff::device::cuda {

/// What a status means. Of the errors that are neither want of memory nor of support, those that have destroyed the
/// context lose the device.
Status check_fft(api::cufftStatus status, const char* name, const ExecutorStream& stream);

struct FftPlan {
  FftShape shape;
  api::cufftPlan handle = 0;
  std::size_t work_bytes = 0;
};

/// Making a plan takes milliseconds. A cuFFT plan serves one thread at a time. The least recently used goes first.
class FftPlanCache {
 public:
  static constexpr std::size_t most_plans = 24;

  /// `cufft` must outlive it.
  FftPlanCache(const api::Cufft& cufft, const ExecutorStream& stream) : cufft_(cufft), stream_(stream) {}
  ~FftPlanCache() { clear(); }
  FftPlanCache(const FftPlanCache&) = delete;
  FftPlanCache& operator=(const FftPlanCache&) = delete;

  bool has(const FftShape& shape) const { return std::ranges::find(plans_, shape, &FftPlan::shape) != plans_.end(); }

  /// Valid until the next call.
  Result<const FftPlan*> plan_for(const FftShape& shape);

 private:
  Result<FftPlan> make(const FftShape& shape) const;
  Status configure(FftPlan& plan) const;
  void drop_last();
  void clear();

  const api::Cufft& cufft_;
  const ExecutorStream stream_;
  std::list<FftPlan> plans_;  ///< the one used last comes first
};

}  // namespace blastoff::device::cuda
