// --verify: compares the result of an offloaded operation with the CPU's.
#pragma once

#include <cstdint>

namespace blastoff::operation {

/// The error of an offloaded result, and its bound.
struct Comparison {
  bool checked = false;       ///< false: the result could not be checked
  double relative_error = 0;  ///< relative to the scale of the operation's own error analysis
  double bound = 0;           ///< largest acceptable relative error
  std::int64_t row = 0;       ///< place of the largest error
  std::int64_t column = 0;
};

/// How much a verification may cost.
enum class Effort : std::uint8_t {
  full,   ///< --verify: may cost as much as the operation itself on the CPU
  quick,  ///< --verify=sample: of lower order than the operation, if such a check exists
};

/// Created before the operation runs; compares after it.
class Verification {
 public:
  virtual ~Verification() = default;
  virtual Comparison compare() const = 0;
};

}  // namespace blastoff::operation
