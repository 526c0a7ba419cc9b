// Plans of FFTW, in double and single precision.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace coherence {

/// False in a build without FFTW: no plan may be made then.
bool has_fftw();

/// Its planners may not run at once. A fork holds it, too: the child may plan.
std::mutex& planner_mutex();

enum class TransformKind : std::uint8_t { c2c, r2c, c2r };

/// Strides are in elements of each side.
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
  /// For arrays of any alignment in this layout. The planner chosen is the plainest that knows it.
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
