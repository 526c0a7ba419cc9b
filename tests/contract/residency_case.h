// One call of any routine on guarded matrices, and the expected contents of memory after it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "blas/batch.h"
#include "blas/call.h"
#include "guarded_matrix.h"
#include "reference_blas.h"

namespace blastoff::test {

/// Offset of the first byte in which two runs of real numbers differ; `bytes` if they are equal. The sign of a zero is
/// ignored, since it depends on the order in which a device adds.
inline std::size_t first_difference(const char* found, const char* wanted, std::size_t bytes, blas::Scalar scalar) {
  const auto equal = [&]<class Real>(std::size_t at, Real a, Real b) {
    std::memcpy(&a, found + at, sizeof a);
    std::memcpy(&b, wanted + at, sizeof b);
    return a == b || std::memcmp(&a, &b, sizeof a) == 0;
  };
  const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
  const std::size_t size = single ? sizeof(float) : sizeof(double);
  for (std::size_t at = 0; at + size <= bytes; at += size)
    if (!(single ? equal(at, 0.0F, 0.0F) : equal(at, 0.0, 0.0))) return at;
  return bytes;
}

/// Owns the operands of a call. expect_right() compares every byte in and around them with the expected contents.
class Case {
 public:
  /// `options` has routine, options, sizes and coefficients. Leading dimensions exceed the number of rows by `gap`. The
  /// matrices of a batch stand beside each other.
  Case(const blas::Call& options, std::int64_t gap, Edge edge, unsigned seed = 1) : call_(options), engine_(seed) {
    void* const nowhere[3] = {};
    const std::int64_t unknown[3] = {1, 1, 1};
    blas::shape_operands(call_, nowhere, unknown);
    std::array<void*, 3> addresses{};
    std::array<std::int64_t, 3> leading{};
    for (std::size_t i = 0; i < count(); ++i) leading[i] = std::max<std::int64_t>(1, call_.operands()[i].rows) + gap;
    shape(addresses, leading);
    for (std::size_t i = 0; i < count(); ++i) {
      const operation::Operand& operand = call_.operands()[i];
      matrices_[i] = std::make_unique<GuardedMatrix>(call_.scalar(), operand.rows, operand.columns,
                                                     operand.leading_dimension, edge);
      addresses[i] = matrices_[i]->address();
      refill(i);
    }
    shape(addresses, leading);
    if (call_.result().intent == operation::Intent::write) matrices_[count() - 1]->fill_with_nan();
  }

  const blas::Call& call() const { return call_; }
  GuardedMatrix& operand(std::size_t index) { return *matrices_[index]; }
  GuardedMatrix& result() { return *matrices_[count() - 1]; }

  /// Gives an operand new contents, written by the CPU.
  void refill(std::size_t index) {
    if (index == 0 && call_.kind() == blas::Kind::trsm) {
      matrices_[index]->fill_for_solve(engine_);
    } else {
      matrices_[index]->fill(engine_);
    }
  }
  void refill_result() { refill(count() - 1); }

  /// To be called before the call is made. Remembers all bytes, and computes the expected ones.
  void expect() {
    before_.clear();
    expected_.clear();
    blas::Call shadow = call_;
    for (std::size_t i = 0; i < count(); ++i) {
      before_.push_back(matrices_[i]->bytes());
      expected_.push_back(before_.back());
    }
    for (std::size_t i = 0; i < count(); ++i) {
      shadow.operands()[i].address = expected_[i].data() + matrices_[i]->offset();
    }
    reference::compute(shadow);
  }

  void expect_right(const std::string& what) { compare(expected_, count(), what); }
  void expect_untouched(const std::string& what) { compare(before_, count(), what); }
  /// Checks that all operands except the result are unchanged.
  void expect_operands_untouched(const std::string& what) { compare(before_, count() - 1, what); }
  /// Restores the result as it was before the call.
  void take_back() { result().restore(before_.back()); }

  /// Checks one panel's result: it must be computed, or as before the call.
  void expect_panel(const blas::Call& panel, bool computed, const std::string& what) {
    const operation::Operand& part = panel.result();
    const std::vector<char>& wanted = computed ? expected_.back() : before_.back();
    const std::ptrdiff_t distance = static_cast<char*>(part.address) - result().pages().begin();
    for (std::int64_t j = 0; j < part.columns; ++j) {
      for (std::int64_t i = 0; i < part.rows; ++i) {
        const bool within =
            part.part == operation::Part::full || (part.part == operation::Part::upper ? i <= j : i >= j);
        const std::size_t at = static_cast<std::size_t>(i + j * part.leading_dimension) * part.element_size;
        if (within && first_difference(static_cast<char*>(part.address) + at, wanted.data() + distance + at,
                                       part.element_size, call_.scalar()) != part.element_size) {
          FAIL() << what << ": element (" << i << ", " << j << ") of a panel is not as it must be";
        }
      }
    }
  }

 private:
  std::size_t count() const { return call_.operands().size(); }

  void shape(const std::array<void*, 3>& addresses, const std::array<std::int64_t, 3>& leading) {
    blas::shape_operands(call_, addresses, leading);
    if (!is_batch(call_.kind())) return;
    std::array<std::int64_t, 3> strides{};
    for (std::size_t i = 0; i < count(); ++i)
      strides[i] = call_.operands()[i].leading_dimension * call_.operands()[i].columns;
    blas::stack(call_, strides);
  }

  void compare(const std::vector<std::vector<char>>& wanted, std::size_t operands, const std::string& what) {
    for (std::size_t i = 0; i < operands; ++i) {
      const char* found = matrices_[i]->pages().begin();
      const auto& bytes = wanted[i];
      const std::size_t at = first_difference(found, bytes.data(), bytes.size(), call_.scalar());
      if (at == bytes.size()) continue;
      const auto distance = static_cast<std::int64_t>(at) - static_cast<std::int64_t>(matrices_[i]->offset());
      const auto stride = static_cast<std::int64_t>(call_.operands()[i].stride_bytes());
      ADD_FAILURE() << what << ": operand " << i << " of " << blas::row(call_.routine).name << " differs at byte "
                    << distance << " from its first element (column " << distance / stride << ", byte "
                    << distance % stride << " of it; its rows end at " << call_.operands()[i].column_bytes() << ")";
      return;
    }
  }

  blas::Call call_;
  std::mt19937 engine_;
  std::array<std::unique_ptr<GuardedMatrix>, 3> matrices_;
  std::vector<std::vector<char>> before_;
  std::vector<std::vector<char>> expected_;
};

/// A call without operands, with options and sizes only.
inline blas::Call options_of(blas::Routine routine, std::int64_t m, std::int64_t n, std::int64_t k, double beta) {
  blas::Call call;
  call.routine = routine;
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = 1;
  call.beta = beta;
  return call;
}

/// All legal combinations of a routine's options, for small tests.
inline std::vector<blas::Call> all_options(const blas::Call& base) {
  std::vector<blas::Call> result;
  using namespace blas;
  const Kind kind = base.kind();
  const bool triangular = kind == Kind::trmm || kind == Kind::trsm;
  const bool sided = triangular || kind == Kind::symm || kind == Kind::hemm;
  for (const Side side : {Side::left, Side::right}) {
    for (const Uplo uplo : {Uplo::upper, Uplo::lower}) {
      for (const Transpose a : {Transpose::none, Transpose::transpose, Transpose::conjugate}) {
        for (const Transpose b : {Transpose::none, Transpose::conjugate}) {
          for (const Diagonal diagonal : {Diagonal::non_unit, Diagonal::unit}) {
            Call call = base;
            call.side = side;
            call.uplo = uplo;
            call.transpose_a = a;
            call.transpose_b = b;
            call.diagonal = diagonal;
            const bool general = kind == Kind::gemm || kind == Kind::gemv;
            const bool one_symmetric =
                kind == Kind::symm || kind == Kind::hemm || kind == Kind::symv || kind == Kind::hemv;
            const bool same = (side == Side::left || sided) && (uplo == Uplo::upper || !general) &&
                              (a == Transpose::none || !one_symmetric) &&
                              (b == Transpose::none || kind == Kind::gemm || kind == Kind::gemmt) &&
                              (diagonal == Diagonal::non_unit || triangular);
            void* const nowhere[3] = {};
            const std::int64_t large[3] = {1 << 20, 1 << 20, 1 << 20};
            shape_operands(call, nowhere, large);
            if (same && valid(call)) result.push_back(call);
          }
        }
      }
    }
  }
  return result;
}

}  // namespace blastoff::test
