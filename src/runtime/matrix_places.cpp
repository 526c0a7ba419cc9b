#include "runtime/matrix_places.h"

#include <fmt/format.h>

#include <cmath>

namespace blastoff::runtime {
namespace {

/// The first and the last rows of a result that stays on the device may lie on pages with other data, and go home.
constexpr double nearly_all = 0.95;
constexpr double nearly_none = 0.005;

std::string text_of(const residency::MatrixPlace& place, std::uint64_t bytes) {
  if (place.node) return *place.node < 0 ? "not yet written" : fmt::format("node {}", *place.node);
  const double alone = static_cast<double>(place.only_there) / static_cast<double>(bytes);
  const double there = static_cast<double>(place.on_device) / static_cast<double>(bytes);
  if (alone >= nearly_all) return "device";
  if (alone >= nearly_none) return fmt::format("{:.0f} % device", std::ceil(100 * alone));
  if (there >= nearly_all) return "both";
  return there < nearly_none ? "host" : fmt::format("{:.0f} % both", std::ceil(100 * there));
}

}  // namespace

std::string text_of(std::span<const residency::MatrixPlaces> places) {
  std::string text;
  for (const residency::MatrixPlaces& matrix : places) {
    if (!text.empty()) text += ", ";
    const std::string before = text_of(matrix.before, matrix.bytes);
    const std::string after = text_of(matrix.after, matrix.bytes);
    text += before == after ? before : fmt::format("{} > {}", before, after);
  }
  return text;
}

}  // namespace blastoff::runtime
