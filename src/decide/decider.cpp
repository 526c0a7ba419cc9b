#include "decide/decider.h"

namespace blastoff::decide {

namespace {

class AverageSizeDecider final : public Decider {
 public:
  explicit AverageSizeDecider(std::int64_t min_size)
      : floor_volume_(static_cast<double>(min_size) * static_cast<double>(min_size) * static_cast<double>(min_size)) {}

  double floor_volume() const override { return floor_volume_; }
  bool offload(const blas::Call& call) const override { return blas::volume(call) >= floor_volume_; }

 private:
  double floor_volume_;
};

}  // namespace

std::unique_ptr<Decider> by_average_size(std::int64_t min_size) {
  return std::make_unique<AverageSizeDecider>(min_size);
}

}  // namespace blastoff::decide
