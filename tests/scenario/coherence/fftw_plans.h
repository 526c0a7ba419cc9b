// Plans of FFTW, in double and single precision.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace coherence {

/// Whether the build has FFTW. If not, no plan may be made.
bool has_fftw();

/// FFTW's planners may not run at the same time. A fork holds this mutex too, so that the child may make plans.
std::mutex& planner_mutex();

enum class TransformKind : std::uint8_t { c2c, r2c, c2r };

/// One loop of a layout. Strides are in elements of each side.
struct TransformLoop {
  int length;
  int in_stride;
  int out_stride;
};

struct TransformLayout {
  TransformKind kind = TransformKind::c2c;
  bool single = false;
  int sign = -1;
  std::vector<TransformLoop> dims;
  std::vector<TransformLoop> batches;  ///< none or one
};

class FftwPlan {
 public:
  /// Makes a plan for arrays of any alignment in this layout, by the simplest planner that supports it.
  FftwPlan(const TransformLayout& layout, void* in, void* out);
  ~FftwPlan();
  FftwPlan(const FftwPlan&) = delete;
  FftwPlan& operator=(const FftwPlan&) = delete;

  void execute(void* in, void* out) const;

 private:
  TransformKind kind_;
  bool single_;
  void* handle_ = nullptr;
};

}  // namespace coherence
