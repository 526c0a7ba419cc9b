// Where matrices are before and after a call, for those who ask.
#include <algorithm>
#include <mutex>

#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

PageAcquisition::PerOperand<MatrixPlace> Coherence::places(const operation::Operation& call) {
  PageAcquisition::PerOperand<MatrixPlace> places{};
  const std::lock_guard lock(mutex_);
  each_distinct_matrix(call, [&](std::size_t i, const operation::Operand& operand) {
    const auto bytes = static_cast<double>(operand.payload_bytes());
    places[i].on_device = place_.foreign() ? 0 : static_cast<std::uint64_t>(bytes * current_share(operand));
    places[i].only_there =
        std::min(place_.bytes_left(platform::outward_to_pages(bounds(operand))), operand.payload_bytes());
  });
  return places;
}

std::vector<MatrixPlaces> Coherence::places(const PageAcquisition& acquisition,
                                            const PageAcquisition::PerOperand<MatrixPlace>& before) {
  const auto after = places(acquisition.call);
  std::vector<MatrixPlaces> result;
  each_distinct_matrix(acquisition.call, [&](std::size_t i, const operation::Operand& operand) {
    MatrixPlaces each{operand.payload_bytes(), before[i], after[i]};
    if (operation::reads(operand.intent)) each.before.on_device = acquisition.found[i];
    if (acquisition.copied[i] || !acquisition.tracked[i]) each.after.on_device = 0;
    result.push_back(each);
  });
  return result;
}

}  // namespace blastoff::residency::mirror
