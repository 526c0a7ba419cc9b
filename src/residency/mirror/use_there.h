// Whether it pays to make operations of vectors where the vectors are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/span.h"

namespace blastoff::residency::mirror {

/// An operation is made where its vectors are so that their pages need not come home. If the program looks at these
/// pages before the next such operation, they come home all the same, and the time on the device was lost. After some
/// such operations in a row, the next ones are refused; then one is tried again, ever more rarely. One object for each
/// routine.
class UseThere {
 public:
  /// Asked before each operation.
  bool pays() {
    if (made_bytes_ > 0) learn();
    if (refusals_ == 0) return true;
    --refusals_;
    return false;
  }

  /// An operation has been made on these pages, of which so many bytes did not come home.
  void made(platform::Span pages, std::size_t bytes) {
    made_ = pages;
    made_bytes_ = bytes;
    touched_bytes_ = 0;
  }

  /// The program has touched these pages of what had stayed.
  void touched(platform::Span run) {
    const platform::Span common{std::max(run.begin, made_.begin), std::min(run.end, made_.end)};
    if (!common.empty()) touched_bytes_ += common.bytes();
  }

 private:
  static constexpr int max_lost = 4;
  static constexpr std::uint32_t first_refusals = 16, last_refusals = 4096;

  void learn() {
    const bool lost = 2 * touched_bytes_ >= made_bytes_;
    made_bytes_ = 0;
    if (!lost) {
      lost_ = 0;
      next_refusals_ = first_refusals;
      return;
    }
    if (++lost_ < max_lost) return;
    lost_ = max_lost - 1;  // one more trial
    refusals_ = next_refusals_;
    next_refusals_ = std::min(2 * next_refusals_, last_refusals);
  }

  platform::Span made_;
  std::size_t made_bytes_ = 0;  ///< 0: nothing is to be learned
  std::size_t touched_bytes_ = 0;
  int lost_ = 0;  ///< operations in a row
  std::uint32_t refusals_ = 0, next_refusals_ = first_refusals;
};

}  // namespace blastoff::residency::mirror
