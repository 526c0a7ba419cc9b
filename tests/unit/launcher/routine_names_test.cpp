#include "launcher/routine_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fft/execution.h"
#include "intercept/front_ends.h"

namespace blastoff::launcher {
namespace {

/// The launcher, which is linked with no front end, must know the names of all of them.
TEST(RoutineNames, AreThoseOfAllFrontEnds) {
  std::vector<std::string> expected;
  const auto append = [&](const operation::FrontEnd& front_end) {
    for (std::size_t i = 0; i < front_end.routine_count(); ++i) expected.emplace_back(front_end.routine_name(i));
  };
  for (const intercept::RoutineTable* table : intercept::front_ends()) append(table->front_end());
  append(fft::dfti());
  append(fft::pocketfft());
  EXPECT_THAT(routine_names(), testing::UnorderedElementsAreArray(expected));
}

}  // namespace
}  // namespace blastoff::launcher
