// How many processes make a distributed call with a GPU each.
#include <gtest/gtest.h>

#include "runtime/team_solve.h"

namespace blastoff::runtime {
namespace {

TEST(TeamMembers, AreAsManyAsThereAreRanksAndGpus) {
  constexpr TeamProblem problem{.bytes = 400, .fits_one = false, .room = 100, .ranks = 6};
  EXPECT_EQ(team_members(problem, 8), 6);
  EXPECT_EQ(team_members(problem, 4), 4);
  EXPECT_EQ(team_members(problem, 1), 1);
}

TEST(TeamMembers, AreNoneIfItDoesNotFitAllTogether) {
  constexpr TeamProblem problem{.bytes = 400, .fits_one = false, .room = 99, .ranks = 6};
  EXPECT_EQ(team_members(problem, 4), 1);
  EXPECT_EQ(team_members(problem, 5), 5);
}

}  // namespace
}  // namespace blastoff::runtime
