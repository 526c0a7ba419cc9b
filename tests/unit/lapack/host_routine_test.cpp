// The program's own LAPACK computes operations, and writes only their results.
#include "lapack/host_routine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "on_system_lapack.h"

namespace blastoff::test {
namespace {

using operation::HostVector;
using operation::Operand;
using operation::Operation;

/// Restores the memory that the operation may write to its contents before the call, and expects that everything is
/// then as before.
void expect_results_only(Example& example, const Operation& operation, const std::vector<std::vector<char>>& before) {
  const auto problem = operation.payload<lapack::Problem>();
  std::size_t position = 0;
  for (const Argument argument : lapack::argument_list(problem.routine)) {
    const std::vector<char>& old = before[position++];
    std::vector<char> now = example.bytes(argument);
    SCOPED_TRACE("argument " + std::to_string(position));
    if (is_vector(argument)) {
      const HostVector& vector = operation.vectors()[vector_index(problem.routine, argument)];
      const std::size_t bytes = result_bytes(problem, argument, example.found());
      EXPECT_LE(bytes, vector.bytes);
      if (writes(vector.intent)) std::copy_n(old.begin(), bytes, now.begin());
    }
    if (is_matrix(argument)) {
      const Operand operand = example.operand(operation, argument);
      for (std::int64_t j = 0; j < operand.columns; ++j)
        for (std::int64_t i = 0; i < operand.rows; ++i) {
          if (!writes(operand.intent) || !refers_to(problem, operand, i, j)) continue;
          EXPECT_TRUE(std::isfinite(std::abs(example.matrix(argument).get(i, j)))) << i << ", " << j;
          const auto at = static_cast<std::ptrdiff_t>(example.matrix(argument).offset(i, j));
          std::copy_n(old.begin() + at, operand.element_size, now.begin() + at);
        }
    }
    EXPECT_EQ(now, old);
  }
}

class HostRoutine : public OnSystemLapack {
 protected:
  /// Expects that an operation fails and leaves vectors unchanged, but for INFO of potrf.
  static void expect_failure(Example& example) {
    const Operation operation = example.call().operation();
    const auto before = example.contents();
    EXPECT_FALSE(host().compute(operation));
    std::size_t position = 0;
    for (const Argument argument : lapack::argument_list(GetParam())) {
      if (is_vector(argument) && !(argument == Argument::info && kind() == Kind::potrf)) {
        EXPECT_EQ(example.bytes(argument), before[position]) << position;
      }
      ++position;
    }
    if (kind() == Kind::potrf) {
      EXPECT_GT(example.integer(Argument::info), 0);
    }
  }
};

TEST_P(HostRoutine, WritesItsResultsOnly) {
  for (const Options& each : options()) {
    Example example(GetParam(), each);
    const lapack::Call call = example.call();
    ASSERT_TRUE(call.valid() && call.supported() && !call.trivial()) << text(call.problem());
    SCOPED_TRACE(text(call.problem()));
    const Operation operation = call.operation();
    const auto before = example.contents();
    ASSERT_TRUE(host().can_compute(operation));
    ASSERT_TRUE(host().compute(operation));
    EXPECT_EQ(example.integer(Argument::info), 0);
    expect_results_only(example, operation, before);
  }
}

TEST_P(HostRoutine, ReturnsTheBestSizesOfWorkSpace) {
  Example example(GetParam());
  ASSERT_TRUE(host().compute(example.call().operation()));
  if (example.has(Argument::lwork)) {
    EXPECT_GE(blas::element(row(GetParam()).scalar, example.bytes(Argument::work).data()).real(), 1);
  }
  if (example.has(Argument::liwork)) {
    EXPECT_GE(example.integer(Argument::iwork), 1);
  }
}

TEST_P(HostRoutine, FailsWhereInputIsNan) {
  Example example(GetParam(), options().back());
  const bool upper = example.call().problem().upper();
  for (const auto& [row, column] : {std::pair{20, 10}, {10, 20}})
    if (!example.has(Argument::uplo) || upper == (row < column))
      example.set_element(Argument::a, row, column, std::nan(""));
  expect_failure(example);
}

TEST_P(HostRoutine, ComputesOperationsOfItsRoutineOnly) {
  Example example(GetParam());
  EXPECT_FALSE(lapack::HostRoutine(GetParam(), nullptr).can_compute(example.call().operation()));
  const Routine other = GetParam() == Routine::dgetrf ? Routine::sgetrf : Routine::dgetrf;
  EXPECT_FALSE(lapack::HostRoutine(other, function()).can_compute(example.call().operation()));
}

INSTANTIATE_TEST_SUITE_P(Every, HostRoutine, testing::ValuesIn(every_routine()), name_of);

class Failing : public HostRoutine {};

TEST_P(Failing, LeavesVectorsAsTheyAre) {
  Example example(GetParam());
  const Argument matrix = example.has(Argument::b) && example.has(Argument::itype) ? Argument::b : Argument::a;
  for (std::int64_t i = 0; i < 37; ++i)
    if (!example.has(Argument::uplo) || i >= 5) example.set_element(matrix, i, 5, 0);
  expect_failure(example);
}

/// Stands for dtrtrs.
std::string letters_given;
void keep_letters(const char* uplo, const char* trans, const char* diag, const void*, const void*, const void*,
                  const void*, const void*, const void*, void* info) {
  letters_given = {*uplo, *trans, *diag};
  const int none = 0;
  std::memcpy(info, &none, sizeof none);
}

TEST(HostRoutineLetters, AreCapitals) {
  const Routine routine = routine_of(Kind::trtrs, blas::Scalar::d);
  Example example(routine);
  const lapack::HostRoutine host(routine, reinterpret_cast<void*>(keep_letters));
  EXPECT_TRUE(host.compute(example.call().operation()));
  ASSERT_EQ(letters_given.size(), 3U);
  for (const char letter : letters_given) EXPECT_TRUE(letter >= 'A' && letter <= 'Z') << letters_given;
}

std::vector<Routine> failing() {
  std::vector<Routine> routines;
  for (const Kind kind : {Kind::potrf, Kind::posv, Kind::getrf, Kind::gesv, Kind::trtri, Kind::trtrs, Kind::sygv,
                          Kind::sygvx, Kind::spgv, Kind::spgvd, Kind::spgvx})
    for (const auto scalar : {blas::Scalar::s, blas::Scalar::d, blas::Scalar::c, blas::Scalar::z})
      routines.push_back(routine_of(kind, scalar));
  return routines;
}

INSTANTIATE_TEST_SUITE_P(Singular, Failing, testing::ValuesIn(failing()), name_of);

}  // namespace
}  // namespace blastoff::test
