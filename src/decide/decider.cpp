#include "decide/decider.h"

namespace blastoff::decide {

namespace {

class SizeAndDepthDecider final : public Decider {
 public:
  explicit SizeAndDepthDecider(double min_size)
      : floor_volume_(min_size * min_size * min_size), min_depth_(min_size / 4) {}

  double floor_volume() const override { return floor_volume_; }

  Verdict judge(const blas::Call& call) const override {
    if (blas::volume(call) < floor_volume_) return Verdict::too_small;
    return blas::depth(call) < min_depth_ ? Verdict::too_shallow : Verdict::device;
  }

 private:
  double floor_volume_;
  double min_depth_;
};

}  // namespace

std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size) {
  return std::make_unique<SizeAndDepthDecider>(static_cast<double>(min_size));
}

}  // namespace blastoff::decide
