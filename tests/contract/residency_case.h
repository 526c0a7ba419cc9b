// One call of any routine on guarded matrices, and the expected contents of memory after it.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "blas/call.h"
#include "guarded_matrix.h"

namespace blastoff::test {

/// Offset of the first byte in which two runs of real numbers differ; `bytes` if they are equal. The sign of a zero is
/// ignored, since it depends on the order in which a device adds.
std::size_t first_difference(const char* found, const char* wanted, std::size_t bytes, blas::Scalar scalar);

/// Owns the operands of a call. expect_right() compares every byte in and around them with the expected contents.
class Case {
 public:
  /// `options` has routine, options, sizes and coefficients. Leading dimensions exceed the number of rows by `gap`. The
  /// matrices of a batch stand beside each other.
  Case(const blas::Call& options, std::int64_t gap, Edge edge, unsigned seed = 1);

  const blas::Call& call() const { return call_; }
  GuardedMatrix& operand(std::size_t index) { return *matrices_[index]; }
  GuardedMatrix& result() { return *matrices_[count() - 1]; }

  /// Gives an operand new contents, written by the CPU.
  void refill(std::size_t index);
  void refill_result() { refill(count() - 1); }

  /// To be called before the call is made. Remembers all bytes, and computes the expected ones.
  void expect();

  void expect_right(const std::string& what) { compare(expected_, count(), what); }
  void expect_untouched(const std::string& what) { compare(before_, count(), what); }
  /// Checks that all operands except the result are unchanged.
  void expect_operands_untouched(const std::string& what) { compare(before_, count() - 1, what); }
  /// Restores the result as it was before the call.
  void take_back() { result().restore(before_.back()); }

  /// Checks one panel's result: it must be computed, or as before the call.
  void expect_panel(const blas::Call& panel, bool computed, const std::string& what);

 private:
  std::size_t count() const { return call_.operands().size(); }

  void shape(const std::array<void*, 3>& addresses, const std::array<std::int64_t, 3>& leading);
  void compare(const std::vector<std::vector<char>>& wanted, std::size_t operands, const std::string& what);

  blas::Call call_;
  std::mt19937 engine_;
  std::array<std::unique_ptr<GuardedMatrix>, 3> matrices_;
  std::vector<std::vector<char>> before_;
  std::vector<std::vector<char>> expected_;
};

/// A call without operands, with options and sizes only.
blas::Call options_of(blas::Routine routine, std::int64_t m, std::int64_t n, std::int64_t k, double beta);

/// All legal combinations of a routine's options, for small tests.
std::vector<blas::Call> all_options(const blas::Call& base);

}  // namespace blastoff::test
