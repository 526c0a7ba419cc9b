#include "lapack/sized_work.h"

#include <gtest/gtest.h>

#include <cmath>

#include "example.h"
#include "on_system_lapack.h"

namespace blastoff::test {
namespace {

class SizedWork : public testing::TestWithParam<Routine> {
 protected:
  static operation::Work of(Example& example, std::uint8_t integer_bytes) {
    std::vector<void*> words;
    for (const Argument argument : lapack::argument_list(GetParam())) words.push_back(example.bytes(argument).data());
    return lapack::sized_work(GetParam(), words.data(), integer_bytes);
  }
  static const lapack::KindRow& kind() { return lapack::row(lapack::row(GetParam()).kind); }
  static bool is_known(const operation::Work& work) { return std::isfinite(work.volume); }
};

TEST_P(SizedWork, IsThatOfTheWholeCall) {
  if (kind().family == lapack::Family::row_exchange) return;  // row_exchange_test.cpp
  for (const Options& each : all_options(kind().kind, blas::is_complex(row(GetParam()).scalar))) {
    for (const std::uint8_t integer_bytes : {std::uint8_t{4}, std::uint8_t{8}}) {
      Example example(GetParam(), each, integer_bytes);
      const operation::Work work = of(example, integer_bytes);
      const lapack::Problem problem = example.call().problem();
      EXPECT_EQ(work.flops, flops(problem)) << text(problem);
      EXPECT_EQ(work.volume, volume(problem)) << text(problem);
    }
  }
}

TEST_P(SizedWork, IsUnknownIfThereIsNothingToCompute) {
  for (const Argument size : {Argument::m, Argument::n, Argument::k, Argument::nrhs}) {
    for (const std::int64_t value : {0, -1}) {
      Example example(GetParam());
      if (!example.has(size)) continue;
      EXPECT_TRUE(is_known(of(example, 4)));
      example.set_integer(size, value);
      EXPECT_FALSE(is_known(of(example, 4))) << "argument " << static_cast<int>(size);
    }
  }
}

TEST_P(SizedWork, IsUnknownIfALetterThatCountsIsInvalid) {
  for (const Argument letter : {Argument::side, Argument::job, Argument::job_right}) {
    Example example(GetParam());
    if (!example.has(letter)) continue;
    example.set_letter(letter, 'X');
    EXPECT_FALSE(is_known(of(example, 4))) << "argument " << static_cast<int>(letter);
  }
}

TEST_P(SizedWork, IsUnknownIfTheCallAsksForTheSizeOfWorkSpace) {
  for (const Argument size : {Argument::lwork, Argument::lrwork, Argument::liwork}) {
    Example example(GetParam());
    if (!example.has(size)) continue;
    example.set_integer(size, -1);
    EXPECT_FALSE(is_known(of(example, 4))) << "argument " << static_cast<int>(size);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, SizedWork, testing::ValuesIn(every_routine()), name_of);

}  // namespace
}  // namespace blastoff::test
