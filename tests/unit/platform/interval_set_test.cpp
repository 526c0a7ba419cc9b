#include "platform/interval_set.h"

#include <vector>

#include <gtest/gtest.h>

namespace blastoff::platform {
namespace {

TEST(IntervalSet, TellsItsGaps) {
  IntervalSet set;
  const auto gaps = [&](Span span) {
    std::vector<Span> found;
    set.each_gap(span, [&](Span gap) { found.push_back(gap); });
    return found;
  };
  EXPECT_EQ(gaps({0, 10}), (std::vector<Span>{{0, 10}}));
  set.add({100, 200});
  set.add({300, 400});
  EXPECT_EQ(gaps({0, 500}), (std::vector<Span>{{0, 100}, {200, 300}, {400, 500}}));
  EXPECT_EQ(gaps({150, 350}), (std::vector<Span>{{200, 300}}));
  EXPECT_EQ(gaps({200, 300}), (std::vector<Span>{{200, 300}}));
  EXPECT_TRUE(gaps({100, 200}).empty());
  EXPECT_TRUE(gaps({120, 130}).empty());
}

TEST(IntervalSet, JoinsAndSplits) {
  IntervalSet set;
  set.add({100, 200});
  set.add({300, 400});
  EXPECT_FALSE(set.contains({150, 350}));
  set.add({200, 300});
  EXPECT_TRUE(set.contains({100, 400}));
  set.remove({150, 160});
  EXPECT_FALSE(set.contains({100, 400}));
  EXPECT_TRUE(set.contains({100, 150}));
  EXPECT_TRUE(set.contains({160, 400}));
  EXPECT_FALSE(set.contains({159, 161}));
  set.remove({0, 1000});
  EXPECT_FALSE(set.contains({100, 101}));
}

TEST(IntervalSet, TellsItsPartsOfASpan) {
  IntervalSet set;
  const auto parts = [&](Span span) {
    std::vector<Span> found;
    set.each_common(span, [&](Span part) { found.push_back(part); });
    return found;
  };
  EXPECT_TRUE(parts({0, 10}).empty());
  set.add({100, 200});
  set.add({300, 400});
  EXPECT_EQ(parts({0, 500}), (std::vector<Span>{{100, 200}, {300, 400}}));
  EXPECT_EQ(parts({150, 350}), (std::vector<Span>{{150, 200}, {300, 350}}));
  EXPECT_EQ(parts({120, 130}), (std::vector<Span>{{120, 130}}));
  EXPECT_TRUE(parts({200, 300}).empty());
  EXPECT_TRUE(parts({150, 150}).empty());
}

}  // namespace
}  // namespace blastoff::platform
