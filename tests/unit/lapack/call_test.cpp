#include "lapack/call.h"

#include <cfenv>

#include <gtest/gtest.h>

#include "example.h"
#include "on_system_lapack.h"

namespace blastoff::test {
namespace {

using operation::Intent;
using operation::Operand;
using operation::Operation;
using operation::Part;

class Call : public testing::TestWithParam<Routine> {
 protected:
  static lapack::ArgumentList arguments() { return lapack::argument_list(GetParam()); }
  static std::vector<Options> options() {
    return all_options(row(GetParam()).kind, blas::is_complex(row(GetParam()).scalar));
  }
  static std::string name(Argument argument) { return "argument " + std::to_string(static_cast<int>(argument)); }
};

TEST_P(Call, IsTheSameWithIntegersOfEitherWidth) {
  for (const Options& each : options()) {
    const lapack::Problem narrow = Example(GetParam(), each, 4).call().problem();
    Example example(GetParam(), each, 8);
    const lapack::Call call = example.call();
    EXPECT_EQ(text(call.problem()), text(narrow));
    EXPECT_EQ(call.problem().lwork, narrow.lwork);
    EXPECT_EQ(call.problem().integer_bytes, 8);
    EXPECT_TRUE(call.valid() && call.supported() && !call.trivial());
  }
}

TEST_P(Call, IsValidOnlyWithLettersThatTheRoutineKnows) {
  for (const Argument argument : arguments()) {
    if (!is_letter(argument)) continue;
    Example example(GetParam());
    example.set_letter(argument, 'X');
    EXPECT_FALSE(example.call().valid()) << name(argument);
  }
}

TEST_P(Call, IsValidOnlyWithIntegersInTheirRange) {
  for (const Argument argument : arguments()) {
    if (!is_integer(argument)) continue;
    Example example(GetParam(), {.range = 'I'});
    ASSERT_TRUE(example.call().valid());
    const bool work_size = argument == Argument::lwork || argument == Argument::lrwork || argument == Argument::liwork;
    example.set_integer(argument, work_size ? 0 : -1);
    EXPECT_FALSE(example.call().valid()) << name(argument);
  }
}

TEST_P(Call, IsValidOnlyWithLeadingDimensionsOfWholeColumns) {
  for (Options each : options()) {
    each.job = each.job == 'N' && arguments().has(Argument::job) && row(GetParam()).kind != Kind::geev ? 'V' : each.job;
    for (const auto& [matrix, leading_dimension] : {std::pair{Argument::a, Argument::lda},
                                                    {Argument::b, Argument::ldb},
                                                    {Argument::z, Argument::ldz},
                                                    {Argument::right, Argument::ld_right}}) {
      Example example(GetParam(), each);
      if (!example.has(matrix) || !example.has(leading_dimension) || !example.call().valid()) continue;
      const std::int64_t rows = std::max<std::int64_t>(1, matrix_shape(example.call().problem(), matrix).rows);
      example.set_integer(leading_dimension, rows);
      EXPECT_TRUE(example.call().valid()) << name(matrix);
      example.set_integer(leading_dimension, rows - 1);
      EXPECT_FALSE(example.call().valid()) << name(matrix);
    }
  }
}

// A program that wants no vectors may pass nullptr for them. LAPACK looks at the leading dimension all the same.
TEST_P(Call, IsValidOnlyWithLeadingDimensionsOfAtLeastOne) {
  for (const Argument leading_dimension : {Argument::ldz, Argument::ld_right}) {
    Example example(GetParam());
    if (!example.has(leading_dimension)) continue;
    example.bytes(leading_dimension == Argument::ldz ? Argument::z : Argument::right) = {};
    example.set_integer(leading_dimension, 1);
    EXPECT_TRUE(example.call().valid());
    example.set_integer(leading_dimension, 0);
    EXPECT_FALSE(example.call().valid());
  }
}

TEST_P(Call, ThatAsksForTheSizeOfWorkSpaceIsTrivial) {
  EXPECT_FALSE(Example(GetParam()).call().asks_for_work_size());
  for (const Argument size : {Argument::lwork, Argument::lrwork, Argument::liwork}) {
    Example example(GetParam());
    if (!example.has(size)) continue;
    for (const Argument other : {Argument::lwork, Argument::lrwork, Argument::liwork})
      if (example.has(other)) example.set_integer(other, 0);
    example.set_integer(size, -1);
    EXPECT_TRUE(example.call().valid() && example.call().trivial()) << name(size);
    EXPECT_TRUE(example.call().asks_for_work_size()) << name(size);
  }
}

TEST_P(Call, OfAnEmptyMatrixIsTrivial) {
  Example example(GetParam(), {.m = 0, .n = 0, .k = 0});
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_TRUE(example.call().valid() && example.call().trivial());
  EXPECT_FALSE(std::fetestexcept(FE_INVALID | FE_DIVBYZERO)) << "the program may trap them";
}

TEST_P(Call, BecomesAnOperationOfItsArgumentsInOrder) {
  for (const Options& each : options()) {
    Example example(GetParam(), each);
    const Operation operation = example.call().operation();
    EXPECT_TRUE(lapack::is_lapack(operation));
    EXPECT_TRUE(operation.may_fail);
    std::size_t matrices = 0;
    std::size_t vectors = 0;
    for (const Argument argument : arguments()) {
      if (is_matrix(argument)) {
        const Operand& operand = operation.operands()[operand_index(GetParam(), argument)];
        EXPECT_EQ(operand_index(GetParam(), argument), matrices++);
        EXPECT_EQ(operand.address, example.bytes(argument).data());
        EXPECT_EQ(operand.leading_dimension, example.matrix(argument).leading_dimension());
      }
      if (is_vector(argument)) {
        EXPECT_EQ(vector_index(GetParam(), argument), vectors);
        EXPECT_EQ(operation.vectors()[vectors++].address, example.bytes(argument).data());
      }
    }
    if (has_eigenvectors_afterwards(example.call().problem())) {
      EXPECT_TRUE(operation.operands()[operand_index(GetParam(), Argument::z)].empty());
      EXPECT_EQ(lapack::eigenvectors_index(GetParam()), vectors);
      EXPECT_EQ(operation.vectors()[vectors++].address, example.bytes(Argument::z).data());
    }
    EXPECT_EQ(operation.operands().size(), matrices);
    EXPECT_EQ(operation.vectors().size(), vectors);
  }
}

/// The double-precision routines: argument lists differ between real and complex routines, not between precisions.
std::vector<Routine> double_routines() {
  std::vector<Routine> routines;
  for (const Routine routine : every_routine())
    if (row(routine).scalar == blas::Scalar::d || row(routine).scalar == blas::Scalar::z) routines.push_back(routine);
  return routines;
}

INSTANTIATE_TEST_SUITE_P(Every, Call, testing::ValuesIn(double_routines()), name_of);

bool supported(Routine routine, const Options& options) {
  Example example(routine, options);
  EXPECT_TRUE(example.call().valid());
  return example.call().supported();
}

TEST(Supported, AreAllRangesOfASpectrum) {
  for (const Routine routine : {Routine::dsyevr, Routine::cheevx, Routine::zhegvx, Routine::sspevx, Routine::zhpgvx})
    for (const char range : {'A', 'I', 'V'}) EXPECT_TRUE(supported(routine, {.range = range}));
}

TEST(Supported, AreLeastSquaresOfTheMatrixItself) {
  EXPECT_TRUE(supported(Routine::dgels, {.m = 9, .n = 7}));
  EXPECT_TRUE(supported(Routine::zgels, {.m = 7, .n = 7}));
  EXPECT_FALSE(supported(Routine::dgels, {.m = 7, .n = 9}));
  EXPECT_FALSE(supported(Routine::dgels, {.m = 9, .n = 7, .trans = 'T'}));
  EXPECT_FALSE(supported(Routine::zgels, {.m = 9, .n = 7, .trans = 'C'}));
}

TEST(Supported, AreSingularVectorsInTheirOwnPlace) {
  EXPECT_TRUE(supported(Routine::dgesdd, {.job = 'A'}));
  EXPECT_FALSE(supported(Routine::dgesdd, {.job = 'O'}));
  EXPECT_TRUE(supported(Routine::zgesvd, {.job = 'S', .job_right = 'S'}));
  EXPECT_TRUE(supported(Routine::zgesvd, {.job = 'S', .job_right = 'A'}));
  EXPECT_TRUE(supported(Routine::zgesvd, {.job = 'N', .job_right = 'S'}));
  EXPECT_FALSE(supported(Routine::zgesvd, {.job = 'O', .job_right = 'S'}));
  EXPECT_FALSE(supported(Routine::zgesvd, {.job = 'N', .job_right = 'O'}));
}

TEST(Supported, AreRightEigenvectorsOnly) {
  EXPECT_TRUE(supported(Routine::sgeev, {.job_right = 'V'}));
  EXPECT_FALSE(supported(Routine::sgeev, {.job = 'V', .job_right = 'V'}));
}

TEST(Valid, IsARangeOfValuesThatHoldsSome) {
  for (const auto& [vu, valid] : {std::pair{1.5, true}, {1.0, false}, {0.5, false}, {std::nan(""), false}}) {
    Example example(Routine::cheevr, {.range = 'V'});
    example.set_real(Argument::vl, 1);
    example.set_real(Argument::vu, vu);
    EXPECT_EQ(example.call().valid(), valid) << vu;
  }
}

TEST(Valid, AreTransposesThatTheRoutineKnows) {
  const auto valid = [](Routine routine, char trans) { return Example(routine, {.trans = trans}).call().valid(); };
  EXPECT_TRUE(valid(Routine::dgetrs, 'C'));
  EXPECT_TRUE(valid(Routine::dormqr, 'T'));
  EXPECT_FALSE(valid(Routine::dormqr, 'C'));
  EXPECT_TRUE(valid(Routine::zunmqr, 'C'));
  EXPECT_FALSE(valid(Routine::zunmqr, 'T'));
  EXPECT_FALSE(valid(Routine::dgels, 'C'));
  EXPECT_FALSE(valid(Routine::zgels, 'T'));
}

TEST(Valid, IsWorkSpaceThatPackedMatricesNeed) {
  const auto expect_least = [](Routine routine, char job, Argument size, std::int64_t least) {
    Example example(routine, {.n = 20, .job = job});
    example.set_integer(size, least);
    EXPECT_TRUE(example.call().valid()) << row(routine).name << ' ' << job;
    example.set_integer(size, least - 1);
    EXPECT_FALSE(example.call().valid()) << row(routine).name << ' ' << job;
  };
  expect_least(Routine::dspevd, 'V', Argument::lwork, 1 + 6 * 20 + 20 * 20);
  expect_least(Routine::dspgvd, 'V', Argument::lwork, 1 + 6 * 20 + 2 * 20 * 20);
  expect_least(Routine::dspevd, 'N', Argument::lwork, 2 * 20);
  expect_least(Routine::dspevd, 'V', Argument::liwork, 3 + 5 * 20);
  expect_least(Routine::zhpgvd, 'V', Argument::lwork, 2 * 20);
  expect_least(Routine::zhpevd, 'N', Argument::lwork, 20);
  expect_least(Routine::zhpevd, 'V', Argument::lrwork, 1 + 5 * 20 + 2 * 20 * 20);
  expect_least(Routine::zhpgvd, 'N', Argument::lrwork, 20);
}

TEST(Valid, IsWorkSpaceForTheReflectorsAndTheRightHandSides) {
  Example example(Routine::dgels, {.m = 9, .n = 7, .k = 20});
  example.set_integer(Argument::lwork, 7 + 20);
  EXPECT_TRUE(example.call().valid());
  example.set_integer(Argument::lwork, 7 + 19);
  EXPECT_FALSE(example.call().valid());
}

TEST(Valid, AreNoMoreReflectorsThanRows) {
  EXPECT_FALSE(Example(Routine::dorgqr, {.m = 5, .n = 6, .k = 3}).call().valid());
  EXPECT_FALSE(Example(Routine::dorgqr, {.m = 6, .n = 5, .k = 6}).call().valid());
  EXPECT_FALSE(Example(Routine::dormqr, {.m = 5, .n = 9, .k = 6, .side = 'L'}).call().valid());
  EXPECT_TRUE(Example(Routine::dormqr, {.m = 5, .n = 9, .k = 6, .side = 'R'}).call().valid());
}

}  // namespace
}  // namespace blastoff::test
