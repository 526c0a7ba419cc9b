#include "residency_case.h"

#include <algorithm>
#include <cstring>

#include "blas/batch.h"
#include "reference_blas.h"

namespace blastoff::test {
std::size_t first_difference(const char* found, const char* wanted, std::size_t bytes, blas::Scalar scalar) {
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

Case::Case(const blas::Call& options, std::int64_t gap, Edge edge, unsigned seed) : call_(options), engine_(seed) {
  void* const nowhere[3] = {};
  const std::int64_t unknown[3] = {1, 1, 1};
  blas::shape_operands(call_, nowhere, unknown);
  std::array<void*, 3> addresses{};
  std::array<std::int64_t, 3> leading{};
  for (std::size_t i = 0; i < count(); ++i) leading[i] = std::max<std::int64_t>(1, call_.operands()[i].rows) + gap;
  shape(addresses, leading);
  for (std::size_t i = 0; i < count(); ++i) {
    const operation::Operand& operand = call_.operands()[i];
    matrices_[i] =
        std::make_unique<GuardedMatrix>(call_.scalar(), operand.rows, operand.columns, operand.leading_dimension, edge);
    addresses[i] = matrices_[i]->address();
    refill(i);
  }
  shape(addresses, leading);
  if (call_.result().intent == operation::Intent::write) matrices_[count() - 1]->fill_with_nan();
}

void Case::refill(std::size_t index) {
  if (index == 0 && call_.kind() == blas::Kind::trsm) {
    matrices_[index]->fill_for_solve(engine_);
  } else {
    matrices_[index]->fill(engine_);
  }
}

void Case::expect() {
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

void Case::expect_panel(const blas::Call& panel, bool computed, const std::string& what) {
  const operation::Operand& part = panel.result();
  const std::vector<char>& wanted = computed ? expected_.back() : before_.back();
  const std::ptrdiff_t distance = static_cast<char*>(part.address) - result().pages().begin();
  for (std::int64_t j = 0; j < part.columns; ++j) {
    for (std::int64_t i = 0; i < part.rows; ++i) {
      const bool within = part.part == operation::Part::full || (part.part == operation::Part::upper ? i <= j : i >= j);
      const std::size_t at = static_cast<std::size_t>(i + j * part.leading_dimension) * part.element_size;
      if (within && first_difference(static_cast<char*>(part.address) + at, wanted.data() + distance + at,
                                     part.element_size, call_.scalar()) != part.element_size) {
        FAIL() << what << ": element (" << i << ", " << j << ") of a panel is not as it must be";
      }
    }
  }
}

void Case::shape(const std::array<void*, 3>& addresses, const std::array<std::int64_t, 3>& leading) {
  blas::shape_operands(call_, addresses, leading);
  if (!is_batch(call_.kind())) return;
  std::array<std::int64_t, 3> strides{};
  for (std::size_t i = 0; i < count(); ++i)
    strides[i] = call_.operands()[i].leading_dimension * call_.operands()[i].columns;
  blas::stack(call_, strides);
}

void Case::compare(const std::vector<std::vector<char>>& wanted, std::size_t operands, const std::string& what) {
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

blas::Call options_of(blas::Routine routine, std::int64_t m, std::int64_t n, std::int64_t k, double beta) {
  blas::Call call;
  call.routine = routine;
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = 1;
  call.beta = beta;
  return call;
}

std::vector<blas::Call> all_options(const blas::Call& base) {
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
