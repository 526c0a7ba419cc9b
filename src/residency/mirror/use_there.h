// Whether it pays to make operations of vectors where the vectors are.
#pragma once

#include <algorithm>
#include <cstddef>

#include "platform/backoff.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// An operation is made where its vectors are so that their pages need not come home. If the program looks at these
/// pages before the next such operation, they come home all the same, and the time on the device was lost. After some
/// such operations in a row, the next ones are refused; then one is tried again, ever more rarely (Backoff). One object
/// for each routine.
class UseThere {
 public:
  /// Asked before each operation.
  bool pays() {
    if (made_bytes_ > 0) learn();
    return backoff_.may_try();
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

  void learn() {
    const bool lost = 2 * touched_bytes_ >= made_bytes_;
    made_bytes_ = 0;
    if (!lost) {
      lost_ = 0;
      backoff_.succeeded();
    } else if (++lost_ >= max_lost) {
      lost_ = max_lost - 1;  // one more trial
      backoff_.failed();
    }
  }

  platform::Span made_;
  std::size_t made_bytes_ = 0;  ///< 0: nothing is to be learned
  std::size_t touched_bytes_ = 0;
  int lost_ = 0;  ///< operations in a row
  platform::Backoff backoff_{{.first = 16}};
};

}  // namespace blastoff::residency::mirror
