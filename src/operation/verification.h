// --verify: the result of an offloaded operation against what it should be.
#pragma once

#include <cstdint>

namespace blastoff::operation {

/// How far an offloaded result lies from the right one, and how far it may.
struct Comparison {
  bool checked = false;       ///< false: it could not be judged
  double relative_error = 0;  ///< in the measure of the operation's own error analysis
  double bound = 0;           ///< what that may be
  std::int64_t row = 0;       ///< where it is largest
  std::int64_t column = 0;
};

/// Made before the operation, asked after it.
class Verification {
 public:
  virtual ~Verification() = default;
  virtual Comparison compare() const = 0;
};

}  // namespace blastoff::operation
