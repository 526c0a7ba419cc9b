// --verify: compares the result of an offloaded operation with the CPU's.
#pragma once

#include <cstdint>

namespace blastoff::operation {

/// The error of an offloaded result, and its bound.
struct Comparison {
  bool checked = false;       ///< false: it could not be checked
  double relative_error = 0;  ///< in the measure of the operation's own error analysis
  double bound = 0;           ///< largest acceptable relative error
  std::int64_t row = 0;       ///< where it is largest
  std::int64_t column = 0;
};

/// How much a verification may cost.
enum class Effort : std::uint8_t {
  full,   ///< --verify: as much as the operation itself on the CPU
  quick,  ///< --verify=sample: of lower order than the operation, where a check of that kind exists
};

/// Created before the operation runs, compared after it.
class Verification {
 public:
  virtual ~Verification() = default;
  virtual Comparison compare() const = 0;
};

}  // namespace blastoff::operation
