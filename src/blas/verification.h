// --verify: the result of an offloaded call against the CPU's.
#pragma once

#include <cstdint>
#include <vector>

#include "blas/call.h"
#include "blas/host_routine.h"

namespace blastoff::runtime {

/// How far an offloaded result lies from the CPU's.
struct Comparison {
  bool checked = false;       ///< false: the CPU could not compute it
  double relative_error = 0;  ///< largest |difference| over |alpha| ||row of op(A)|| ||column of op(B)|| + |beta| |c|
  double bound = 0;           ///< what that may be: 8 (k + 8) epsilon
  std::int64_t row = 0;       ///< where it is largest
  std::int64_t column = 0;
};

/// Made before the call, asked after it. The error of a product is bounded elementwise by k epsilon |A| |B| (Higham,
/// Accuracy and Stability of Numerical Algorithms, 3.5), which Cauchy-Schwarz bounds by the norms above. A solve is
/// judged by its residual, op(A) X against alpha B, since its forward error depends on the condition of A.
class Verification {
 public:
  Verification(const blas::Call& call, const blas::HostRoutine& host);
  Comparison compare() const;

 private:
  Comparison compare_products(const blas::Call& product, const std::vector<char>& expected,
                              const std::vector<char>& actual) const;

  blas::Call call_;
  const blas::HostRoutine& host_;
  std::vector<char> before_;  // the result's elements as they were, columns one after the other
};

}  // namespace blastoff::runtime
