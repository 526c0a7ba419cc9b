#include "abi/original_routine.h"

#include <gtest/gtest.h>

#include "abi/reentry.h"
#include "every_routine.h"
#include "reference_blas.h"
#include "system_library.h"
#include "test_call.h"

namespace blastoff {
namespace {

using abi::HostFunction;
using abi::OriginalRoutine;
using abi::Style;
using blas::Routine;

class OnTheSystemsBlas : public testing::TestWithParam<Routine> {
 protected:
  void expect_as_the_reference(HostFunction function) {
    const OriginalRoutine host(GetParam(), function, {});
    for (const test::Options& options : test::all_options(GetParam())) {
      for (const blas::Coefficient beta : {blas::Coefficient(0), blas::Coefficient(1.3, 0.2)}) {
        const test::TestCall made(GetParam(), options, 4, 3, 5, {0.6, -0.8}, beta);
        SCOPED_TRACE(test::describe(made.call()));
        auto expected = made.result();
        auto computed = made.result();
        reference::compute(made.with_result(expected));
        ASSERT_TRUE(host.can_compute(made.call()));
        host.compute(made.with_result(computed));
        EXPECT_LE(made.difference(computed, expected), test::rounding);
      }
    }
  }
};

TEST_P(OnTheSystemsBlas, FortranComputesAnyCall) {
  void* const function = test::system_blas_function(std::string(row(GetParam()).name) + "_");
  ASSERT_NE(function, nullptr);
  expect_as_the_reference({function, Style::fortran});
}

TEST_P(OnTheSystemsBlas, CblasComputesAnyCall) {
  void* const function = test::system_blas_function(std::string("cblas_") + row(GetParam()).name);
  ASSERT_NE(function, nullptr);
  expect_as_the_reference({function, Style::cblas});
}

/// All routines but gemmt, gemm3m and batches, which are not part of the standard.
std::vector<Routine> standard_routines() {
  std::vector<Routine> result;
  for (const Routine routine : test::every_routine()) {
    const std::string name = row(routine).name;
    if (name.find("gemmt") == std::string::npos && name.find("3m") == std::string::npos) result.push_back(routine);
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Every, OnTheSystemsBlas, testing::ValuesIn(standard_routines()), test::routine_name);

TEST(OriginalRoutine, ComputesItsRoutineAndItsCompanion) {
  int function = 0;
  const auto can = [&](const OriginalRoutine& host, Routine routine) {
    blas::Call call;
    call.routine = routine;
    return host.can_compute(call);
  };
  const OriginalRoutine both(Routine::dsyrk, {&function, Style::fortran}, {&function, Style::fortran});
  EXPECT_TRUE(can(both, Routine::dsyrk));
  EXPECT_TRUE(can(both, Routine::dgemm));
  EXPECT_FALSE(can(both, Routine::zgemm));
  EXPECT_FALSE(can(both, Routine::dtrsm));
  const OriginalRoutine alone(Routine::dsyrk, {&function, Style::fortran}, {});
  EXPECT_TRUE(can(alone, Routine::dsyrk));
  EXPECT_FALSE(can(alone, Routine::dgemm));
  const OriginalRoutine none(Routine::zgemm3m, {}, {&function, Style::fortran});
  EXPECT_FALSE(can(none, Routine::zgemm));
  const OriginalRoutine solve(Routine::ztrsm, {&function, Style::fortran}, {&function, Style::fortran});
  EXPECT_TRUE(can(solve, Routine::zgemm));
  EXPECT_FALSE(can(solve, Routine::ztrmm));
}

bool was_inside = false;
std::size_t length_seen = 0;

void record_dsyrk(const char*, const char*, const void*, const void*, const void*, void*, const void*, const void*,
                  void*, const void*, std::size_t, std::size_t last_length) {
  was_inside = abi::inside_original();
  length_seen = last_length;
}

TEST(OriginalRoutine, IsGuardedAgainstInterceptionAndHandsOverCharacterLengths) {
  const test::TestCall made(Routine::dsyrk, {}, 3, 3, 3, 1, 1);
  const OriginalRoutine host(Routine::dsyrk, {reinterpret_cast<void*>(&record_dsyrk), Style::fortran}, {});
  host.compute(made.call());
  EXPECT_TRUE(was_inside);
  EXPECT_EQ(length_seen, 1U);
  EXPECT_FALSE(abi::inside_original());
}

}  // namespace
}  // namespace blastoff
