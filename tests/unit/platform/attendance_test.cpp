// Ranks see which of them are there. The test stands for all ranks of a job, since a name tells nothing of its process.
#include "platform/attendance.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace blastoff::platform {
namespace {

class AttendanceOfRanks : public testing::Test {
 protected:
  Rank rank(int number) const { return {.rank = number, .ranks = 3, .local_ranks = 3, .run = run_}; }

  // The names last as long as this process.
  const std::string run_ = std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(AttendanceOfRanks, IsFullWhenTheLastIsThere) {
  for (int number = 0; number < 3; ++number) {
    EXPECT_EQ(attendance(rank(0), "like"), Attendance::partial);
    attend(rank(number), "like");
  }
  for (int number = 0; number < 3; ++number) EXPECT_EQ(attendance(rank(number), "like"), Attendance::full);
}

TEST_F(AttendanceOfRanks, IsOfRanksThatAreAlike) {
  for (int number = 0; number < 3; ++number) attend(rank(number), number == 1 ? "other" : "like");
  EXPECT_EQ(attendance(rank(0), "like"), Attendance::partial);
  EXPECT_EQ(attendance(rank(1), "other"), Attendance::partial);
}

TEST_F(AttendanceOfRanks, IsOfOneRun) {
  for (int number = 0; number < 3; ++number) attend(rank(number), "like");
  Rank of_another_run = rank(0);
  of_another_run.run += "another";
  EXPECT_EQ(attendance(of_another_run, "like"), Attendance::partial);
}

TEST_F(AttendanceOfRanks, IsUnknownOnSeveralNodesAndWithoutALauncher) {
  for (int number = 0; number < 3; ++number) attend(rank(number), "like");
  Rank apart = rank(0);
  apart.local_ranks = 2;
  EXPECT_EQ(attendance(apart, "like"), Attendance::unknown);
  Rank alone = rank(0);
  alone.run.clear();
  EXPECT_EQ(attendance(alone, "like"), Attendance::unknown);
}

TEST_F(AttendanceOfRanks, TakesALongNameOfARun) {
  for (int number = 0; number < 3; ++number) {
    Rank of_long_run = rank(number);
    of_long_run.run += std::string(4000, 'x');
    attend(of_long_run, "like");
    EXPECT_EQ(attendance(of_long_run, "like"), number < 2 ? Attendance::partial : Attendance::full);
  }
}

}  // namespace
}  // namespace blastoff::platform
