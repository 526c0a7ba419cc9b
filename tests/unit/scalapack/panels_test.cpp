// A panel that is dealt out as a matrix of its own gives each member the columns that it has of the whole matrix.
#include "scalapack/panels.h"

#include <gtest/gtest.h>

namespace blastoff::scalapack {
namespace {

/// Where a column lies: the member, and its place among the member's columns.
struct Place {
  int member = -1;
  std::int64_t own = -1;
  bool operator==(const Place&) const = default;
};

Place place_of(std::int64_t column, std::int64_t block, int first, int members) {
  const std::int64_t index = column / block;
  return {.member = static_cast<int>((index + first) % members), .own = index / members * block + column % block};
}

class Panels : public testing::TestWithParam<std::int64_t> {};

TEST_P(Panels, DealOutEachColumnOnce) {
  for (const int members : {1, 2, 3, 7}) {
    const Team team{.members = members, .block = 16};
    for (const std::int64_t columns : {1, 15, 16, 17, 33, 100, 257}) {
      std::int64_t next = 0;
      each_panel(team, columns, 10, GetParam(), [&](const Panel& panel) {
        ASSERT_EQ(panel.begin, next);
        ASSERT_GT(panel.columns, 0);
        EXPECT_LE(panel.columns * 10, std::max<std::int64_t>(10, GetParam()));
        for (std::int64_t column = 0; column < panel.columns; ++column, ++next) {
          Place place = place_of(column, panel.block, panel.first_member, members);
          place.own += own_share(team.columns(panel.begin, place.member));
          EXPECT_EQ(place, place_of(next, team.block, 0, members)) << next << " of " << columns;
        }
      });
      EXPECT_EQ(next, columns);
    }
  }
}

// In columns: less than one, one, some of a block, a block, and one and a half, some blocks, all.
INSTANTIATE_TEST_SUITE_P(Bytes, Panels, testing::Values(5, 10, 70, 160, 240, 330, 1600, 10000));

}  // namespace
}  // namespace blastoff::scalapack
