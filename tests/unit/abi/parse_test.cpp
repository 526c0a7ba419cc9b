#include "abi/parse.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <type_traits>

#include "every_routine.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff {
namespace {

using abi::Argument;
using abi::Cblas;
using abi::Style;
using blas::Call;
using blas::Kind;
using blas::Routine;
using blas::Scalar;
using blas::Transpose;

std::int32_t one = 1;
std::int32_t two = 2;
std::int32_t three = 3;
double alpha = 0.5;
double beta = 2;
double matrix[9];

bool parse_dgemm(Call* call, const char* transpose_a, const char* transpose_b) {
  return abi::parse<Style::fortran, Kind::gemm, Scalar::d, std::int32_t>(
      call, Routine::dgemm, transpose_a, transpose_b, &one, &two, &three, &alpha, matrix, &three, matrix + 1, &three,
      &beta, matrix + 2, &three, std::size_t{1}, std::size_t{1});
}

TEST(FortranLetters, OfEitherCase) {
  Call call;
  ASSERT_TRUE(parse_dgemm(&call, "n", "T"));
  EXPECT_EQ(call.transpose_a, Transpose::none);
  EXPECT_EQ(call.transpose_b, Transpose::transpose);
  ASSERT_TRUE(parse_dgemm(&call, "Conjugate", "N"));
  EXPECT_EQ(call.transpose_a, Transpose::conjugate);
  ASSERT_TRUE(parse_dgemm(&call, "c", "t"));
  EXPECT_EQ(call.transpose_a, Transpose::conjugate);
  for (const char* const unknown : {"R", "x", "", &"\x4e\x80"[1], "."}) EXPECT_FALSE(parse_dgemm(&call, unknown, "N"));
}

TEST(FortranArguments, BecomeTheFieldsOfTheCall) {
  Call call;
  ASSERT_TRUE(parse_dgemm(&call, "T", "N"));
  EXPECT_EQ(call.routine, Routine::dgemm);
  EXPECT_EQ(call.m, 1);
  EXPECT_EQ(call.n, 2);
  EXPECT_EQ(call.k, 3);
  EXPECT_EQ(call.alpha, blas::Coefficient(0.5));
  EXPECT_EQ(call.beta, blas::Coefficient(2));
  ASSERT_EQ(call.operand_count, 3);
  EXPECT_EQ(call.operands()[0].address, matrix);
  EXPECT_EQ(call.operands()[1].address, matrix + 1);
  EXPECT_EQ(call.result().address, matrix + 2);
  EXPECT_EQ(call.operands()[0].rows, 3);
  EXPECT_EQ(call.operands()[0].element_size, 8U);
  EXPECT_EQ(call.operands()[0].leading_dimension, 3);
}

TEST(FortranArguments, SideUploAndDiagonal) {
  const auto parse = [](Call* call, const char* side, const char* uplo, const char* diagonal) {
    return abi::parse<Style::fortran, Kind::trsm, Scalar::d, std::int32_t>(
        call, Routine::dtrsm, side, uplo, "N", diagonal, &one, &two, &alpha, matrix, &three, matrix + 1, &three,
        std::size_t{1}, std::size_t{1}, std::size_t{1}, std::size_t{1});
  };
  Call call;
  ASSERT_TRUE(parse(&call, "r", "L", "u"));
  EXPECT_EQ(call.side, blas::Side::right);
  EXPECT_EQ(call.uplo, blas::Uplo::lower);
  EXPECT_EQ(call.diagonal, blas::Diagonal::unit);
  EXPECT_EQ(call.k, 2);
  ASSERT_TRUE(parse(&call, "L", "u", "N"));
  EXPECT_EQ(call.side, blas::Side::left);
  EXPECT_EQ(call.uplo, blas::Uplo::upper);
  EXPECT_EQ(call.diagonal, blas::Diagonal::non_unit);
  EXPECT_FALSE(parse(&call, "x", "U", "N"));
  EXPECT_FALSE(parse(&call, "L", "x", "N"));
  EXPECT_FALSE(parse(&call, "L", "U", "x"));
}

template <class Integer>
bool parse_cblas_dgemm(Call* call, int order, int transpose_a, std::int64_t m) {
  return abi::parse<Style::cblas, Kind::gemm, Scalar::d, Integer>(
      call, Routine::dgemm, order, transpose_a, int{Cblas::no_transpose}, m, std::int64_t{2}, std::int64_t{3}, 1.0,
      matrix, std::int64_t{3}, matrix, std::int64_t{3}, 0.0, matrix, std::int64_t{3});
}

TEST(CblasEnumerators, OutsideTheStandardAreNotUnderstood) {
  Call call;
  const auto parse = [&](int order, int transpose) {
    return parse_cblas_dgemm<std::int32_t>(&call, order, transpose, 1);
  };
  EXPECT_TRUE(parse(Cblas::column_major, Cblas::transpose));
  EXPECT_EQ(call.transpose_a, Transpose::transpose);
  EXPECT_TRUE(parse(Cblas::column_major, Cblas::conjugate_transpose));
  EXPECT_EQ(call.transpose_a, Transpose::conjugate);
  EXPECT_FALSE(parse(100, Cblas::transpose));
  EXPECT_FALSE(parse(103, Cblas::transpose));
  EXPECT_FALSE(parse(Cblas::column_major, 110));
  EXPECT_FALSE(parse(Cblas::column_major, 114));
}

TEST(Integers, HaveTheWidthOfTheProgram) {
  Call call;
  // The bytes beside a 32-bit integer are not part of it.
  const std::int64_t slot = (std::int64_t{77} << 32) | 5;
  ASSERT_TRUE(parse_cblas_dgemm<std::int32_t>(&call, Cblas::column_major, Cblas::no_transpose, slot));
  EXPECT_EQ(call.m, 5);
  ASSERT_TRUE(parse_cblas_dgemm<std::int64_t>(&call, Cblas::column_major, Cblas::no_transpose, slot));
  EXPECT_EQ(call.m, slot);
  const std::int64_t minus_one = 0xffffffff;
  ASSERT_TRUE(parse_cblas_dgemm<std::int32_t>(&call, Cblas::column_major, Cblas::no_transpose, minus_one));
  EXPECT_EQ(call.m, -1);
}

/// Row-major matrices with the same contents as the matrices of a TestCall, and their arguments for CBLAS. Vectors have
/// no order; their increments are 1 or -1.
template <class T>
struct RowMajor {
  explicit RowMajor(const Call& column_major) : call(column_major) {
    for (std::size_t i = 0; i < call.operands().size(); ++i) {
      const operation::Operand& from = call.operands()[i];
      leading_dimensions[i] = from.transient ? 1 : from.columns + 2;
      elements[i].resize(static_cast<std::size_t>((from.rows + 1) * (from.columns + 2)), T(-7));
      for (std::int64_t row = 0; row < from.rows; ++row) {
        for (std::int64_t column = 0; column < from.columns; ++column) {
          at(i, row, column) = static_cast<const T*>(from.address)[row + column * from.leading_dimension];
        }
      }
    }
  }

  T& at(std::size_t operand, std::int64_t row, std::int64_t column) {
    return elements[operand][static_cast<std::size_t>(row * leading_dimensions[operand] + column)];
  }

  const Call& call;
  std::vector<T> elements[3];
  std::int64_t leading_dimensions[3]{};
};

template <Kind kind, Scalar scalar, Argument argument, class T>
auto cblas_value(RowMajor<T>& problem) {
  const Call& call = problem.call;
  if constexpr (argument == Argument::order) return int{Cblas::row_major};
  if constexpr (argument == Argument::side) return Cblas::left + static_cast<int>(call.side);
  if constexpr (argument == Argument::uplo) return Cblas::upper + static_cast<int>(call.uplo);
  if constexpr (argument == Argument::transpose_a) return Cblas::no_transpose + static_cast<int>(call.transpose_a);
  if constexpr (argument == Argument::transpose_b) return Cblas::no_transpose + static_cast<int>(call.transpose_b);
  if constexpr (argument == Argument::diagonal) return Cblas::non_unit + static_cast<int>(call.diagonal);
  if constexpr (argument == Argument::m) return call.m;
  if constexpr (argument == Argument::n) return call.n;
  if constexpr (argument == Argument::k) return call.k;
  if constexpr (argument == Argument::alpha || argument == Argument::beta) {
    const blas::Coefficient& value = argument == Argument::alpha ? call.alpha : call.beta;
    using C = abi::CoefficientType<kind, scalar, argument>;
    if constexpr (std::is_arithmetic_v<C>) {
      return static_cast<C>(value.real());
    } else {
      static thread_local C kept[2];
      C& slot = kept[argument == Argument::alpha];
      slot = static_cast<C>(value);
      return static_cast<const void*>(&slot);
    }
  }
  if constexpr (argument == Argument::incx) return std::int64_t{call.reversed_x ? -1 : 1};
  if constexpr (argument == Argument::incy) return std::int64_t{call.reversed_y ? -1 : 1};
  if constexpr (abi::is_size(argument) && !abi::is_increment(argument) && argument != Argument::m &&
                argument != Argument::n && argument != Argument::k) {
    return problem.leading_dimensions[abi::operand_index(kind, argument)];
  }
  if constexpr (argument == Argument::a || argument == Argument::b || argument == Argument::c ||
                argument == Argument::x || argument == Argument::y) {
    return static_cast<void*>(problem.elements[abi::operand_index(kind, argument)].data());
  }
}

template <Kind kind, Scalar scalar, class T, Argument... arguments>
bool parse_row_major(Call* call, RowMajor<T>& problem, abi::ArgumentList<arguments...>) {
  return abi::parse<Style::cblas, kind, scalar, std::int64_t>(call, problem.call.routine,
                                                              cblas_value<kind, scalar, arguments>(problem)...);
}

class RowMajorOrder : public testing::TestWithParam<Routine> {};

template <Kind kind, Scalar scalar>
void expect_same_result(const test::TestCall& made) {
  using T = abi::Element<scalar>;
  RowMajor<T> problem(made.call());
  Call parsed;
  ASSERT_TRUE((parse_row_major<kind, scalar>(&parsed, problem, abi::Arguments<Style::cblas, kind>{})));
  ASSERT_TRUE(valid(parsed));
  reference::compute(parsed);

  auto expected = made.result();
  reference::compute(made.with_result(expected));
  auto by_columns = made.result();
  const auto result = static_cast<std::size_t>(made.call().operand_count) - 1;
  const operation::Operand& c = made.call().result();
  for (std::int64_t row = 0; row < c.rows; ++row) {
    for (std::int64_t column = 0; column < c.columns; ++column) {
      const std::int64_t offset = row + column * c.leading_dimension;
      std::memcpy(&by_columns[static_cast<std::size_t>(offset) * sizeof(T)], &problem.at(result, row, column),
                  sizeof(T));
    }
  }
  EXPECT_LE(made.difference(by_columns, expected), test::rounding);
}

TEST_P(RowMajorOrder, MeansTheSameAsColumnMajorOfTheSameMatrices) {
  for (const test::Options& options : test::all_options(GetParam())) {
    const test::TestCall made(GetParam(), options, 4, 3, 5, {0.6, -0.8}, {1.1, 0.3});
    SCOPED_TRACE(test::describe(made.call()));
    test::with_routine(GetParam(), [&]<Kind kind, Scalar scalar>() { expect_same_result<kind, scalar>(made); });
  }
}

INSTANTIATE_TEST_SUITE_P(Every, RowMajorOrder, testing::ValuesIn(test::every_routine()), test::routine_name);

bool parse_dgemv(Call* call, std::int32_t incx, std::int32_t incy) {
  return abi::parse<Style::fortran, Kind::gemv, Scalar::d, std::int32_t>(call, Routine::dgemv, "T", &two, &three,
                                                                         &alpha, matrix, &two, matrix + 1, &incx, &beta,
                                                                         matrix + 2, &incy, std::size_t{1});
}

TEST(Vectors, AreRowsWhoseLeadingDimensionIsTheSizeOfTheirIncrement) {
  Call call;
  ASSERT_TRUE(parse_dgemv(&call, -3, 2));
  ASSERT_EQ(call.operand_count, 3);
  const operation::Operand& x = call.operands()[1];
  EXPECT_EQ(call.operands()[0].rows, 2);
  EXPECT_EQ(call.operands()[0].columns, 3);
  EXPECT_EQ(x.address, matrix + 1);
  EXPECT_EQ(x.rows, 1);
  EXPECT_EQ(x.columns, 2);  // transposed
  EXPECT_EQ(x.leading_dimension, 3);
  EXPECT_TRUE(call.reversed_x);
  EXPECT_EQ(call.result().columns, 3);
  EXPECT_EQ(call.result().leading_dimension, 2);
  EXPECT_FALSE(call.reversed_y);
  EXPECT_EQ(call.result().intent, operation::Intent::update);
  EXPECT_TRUE(x.transient && call.result().transient && !call.operands()[0].transient);
}

TEST(Vectors, WithoutAnIncrementAreInvalid) {
  Call call;
  ASSERT_TRUE(parse_dgemv(&call, 0, 1));
  EXPECT_FALSE(valid(call));
  ASSERT_TRUE(parse_dgemv(&call, 1, 0));
  EXPECT_FALSE(valid(call));
  ASSERT_TRUE(parse_dgemv(&call, 1, -1));
  EXPECT_TRUE(valid(call));
}

TEST(Vectors, OfIncrementsWithoutASizeAreInvalid) {
  Call call;
  const std::int64_t sizes[] = {2, 3};
  const std::int64_t increments[] = {std::numeric_limits<std::int64_t>::min(), 1};
  ASSERT_TRUE((abi::parse<Style::fortran, Kind::gemv, Scalar::d, std::int64_t>(
      &call, Routine::dgemv, "N", &sizes[0], &sizes[1], &alpha, matrix, &sizes[0], matrix, &increments[0], &beta,
      matrix, &increments[1], std::size_t{1})));
  EXPECT_FALSE(valid(call));
}

template <Kind kind, Scalar scalar>
bool understands(int order, int transpose) {
  Call call;
  const std::complex<double> unused[9]{};
  void* const memory = const_cast<std::complex<double>*>(unused);
  using Real = typename abi::Element<scalar>::value_type;
  if constexpr (kind == Kind::herk) {
    return abi::parse<Style::cblas, kind, scalar, std::int32_t>(
        &call, blas::routine_of(kind, scalar), order, int{Cblas::upper}, transpose, std::int64_t{2}, std::int64_t{2},
        Real(1), memory, std::int64_t{2}, Real(1), memory, std::int64_t{2});
  } else {
    return abi::parse<Style::cblas, kind, scalar, std::int32_t>(
        &call, blas::routine_of(kind, scalar), order, int{Cblas::upper}, transpose, std::int64_t{2}, std::int64_t{2},
        static_cast<const void*>(memory), memory, std::int64_t{2}, static_cast<const void*>(memory), memory,
        std::int64_t{2});
  }
}

TEST(RankUpdates, OfTheWrongTransposeAreNotUnderstoodInEitherOrder) {
  for (const int order : {Cblas::row_major, Cblas::column_major}) {
    EXPECT_TRUE((understands<Kind::syrk, Scalar::z>(order, Cblas::transpose)));
    EXPECT_FALSE((understands<Kind::syrk, Scalar::z>(order, Cblas::conjugate_transpose)));
    EXPECT_TRUE((understands<Kind::herk, Scalar::c>(order, Cblas::conjugate_transpose)));
    EXPECT_FALSE((understands<Kind::herk, Scalar::c>(order, Cblas::transpose)));
  }
}

template <class Integer>
void expect_strided_batch() {
  const Integer m = 2, n = 3, k = 5, lda = 2, ldb = 3, ldc = 4, stride_a = 10, stride_b = 0, stride_c = 12,
                products = 7;
  const double doubled = 2, overwritten = 0;
  std::array<double, 100> a{}, b{}, c{};
  blas::Call call;
  ASSERT_TRUE((abi::parse<Style::fortran, Kind::gemm_batch_strided, Scalar::d, Integer>(
      &call, Routine::dgemm_batch_strided, "N", "T", &m, &n, &k, &doubled, a.data(), &lda, &stride_a, b.data(), &ldb,
      &stride_b, &overwritten, c.data(), &ldc, &stride_c, &products, std::size_t{1}, std::size_t{1})));
  EXPECT_EQ(call.products, 7);
  EXPECT_EQ(call.stacking, (std::array{blas::Stacking::apart, blas::Stacking::one, blas::Stacking::beside}));
  EXPECT_EQ(call.result().columns, 21);
  EXPECT_EQ(call.result().intent, operation::Intent::write);

  // By rows, the transposed product is computed: the factors change places, and so do their strides.
  ASSERT_TRUE((abi::parse<Style::cblas, Kind::gemm_batch_strided, Scalar::d, Integer>(
      &call, Routine::dgemm_batch_strided, abi::Cblas::row_major, abi::Cblas::transpose, abi::Cblas::no_transpose, 2, 3,
      5, 2.0, a.data(), 2, 10, b.data(), 3, 0, 0.0, c.data(), 3, 6, 7)));
  EXPECT_EQ(call.operands()[0].address, b.data());
  EXPECT_EQ(call.operands()[1].address, a.data());
  EXPECT_EQ(call.transpose_a, blas::Transpose::none);
  EXPECT_EQ(call.transpose_b, blas::Transpose::transpose);
  EXPECT_EQ(call.m, 3);
  EXPECT_EQ(call.n, 2);
  EXPECT_EQ(call.stacking, (std::array{blas::Stacking::one, blas::Stacking::apart, blas::Stacking::apart}));
}

TEST(StridedBatch, IsReadWithIntegersOfBothWidths) {
  expect_strided_batch<std::int32_t>();
  expect_strided_batch<std::int64_t>();
}

template <class Integer>
void expect_strided_solves() {
  const Integer m = 2, n = 3, lda = 3, ldb = 4, stride_a = 9, stride_b = 12, solves = 7;
  const double doubled = 2;
  std::array<double, 100> a{}, b{};
  blas::Call call;
  ASSERT_TRUE((abi::parse<Style::fortran, Kind::trsm_batch_strided, Scalar::d, Integer>(
      &call, Routine::dtrsm_batch_strided, "R", "L", "T", "U", &m, &n, &doubled, a.data(), &lda, &stride_a, b.data(),
      &ldb, &stride_b, &solves, std::size_t{1}, std::size_t{1}, std::size_t{1}, std::size_t{1})));
  EXPECT_EQ(call.products, 7);
  EXPECT_EQ(call.k, 3);
  EXPECT_EQ(call.side, blas::Side::right);
  EXPECT_EQ(call.uplo, blas::Uplo::lower);
  EXPECT_EQ(call.transpose_a, blas::Transpose::transpose);
  EXPECT_EQ(call.diagonal, blas::Diagonal::unit);
  EXPECT_EQ(call.stacking[0], blas::Stacking::apart);
  EXPECT_EQ(call.stacking[1], blas::Stacking::beside);

  // By rows, the transposed solutions are found: side, triangle and sizes are the other ones.
  ASSERT_TRUE((abi::parse<Style::cblas, Kind::trsm_batch_strided, Scalar::d, Integer>(
      &call, Routine::dtrsm_batch_strided, abi::Cblas::row_major, abi::Cblas::right, abi::Cblas::lower,
      abi::Cblas::transpose, abi::Cblas::unit, 2, 3, 2.0, a.data(), 3, 9, b.data(), 3, 6, 7)));
  EXPECT_EQ(call.side, blas::Side::left);
  EXPECT_EQ(call.uplo, blas::Uplo::upper);
  EXPECT_EQ(call.transpose_a, blas::Transpose::transpose);
  EXPECT_EQ(call.operands()[0].address, a.data());
  EXPECT_EQ(call.m, 3);
  EXPECT_EQ(call.n, 2);
  EXPECT_EQ(call.k, 3);
  EXPECT_EQ(call.stacking[1], blas::Stacking::apart);
}

TEST(StridedSolves, AreReadWithIntegersOfBothWidths) {
  expect_strided_solves<std::int32_t>();
  expect_strided_solves<std::int64_t>();
}

}  // namespace
}  // namespace blastoff
