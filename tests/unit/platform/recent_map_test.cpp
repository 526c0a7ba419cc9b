// The entries that a map forgets; it forgets no others.
#include "platform/recent_map.h"

#include <gtest/gtest.h>

#include <vector>

namespace blastoff::platform {
namespace {

TEST(RecentMap, ForgetsWhatWasUsedLeastRecently) {
  RecentMap<int, int> map(3);
  for (int key = 0; key < 3; ++key) map.use(key) = 10 * key;
  map.use(0);
  EXPECT_NE(map.find(1), nullptr) << "which is no use";
  int forgotten = -1;
  map.use(3, [&](int key, int value) { forgotten = key + value; });
  EXPECT_EQ(forgotten, 1 + 10);
  EXPECT_EQ(map.find(1), nullptr);
  EXPECT_EQ(*map.find(0), 0);
  EXPECT_EQ(*map.find(2), 20);
  EXPECT_EQ(*map.find(3), 0);
}

TEST(RecentMap, IsOrderedByKey) {
  RecentMap<int, int> map(10);
  for (const int key : {5, 1, 9}) map.use(key) = key;
  EXPECT_EQ(map.find_up_to(0), nullptr);
  EXPECT_EQ(*map.find_up_to(1), 1);
  EXPECT_EQ(*map.find_up_to(8), 5);
  std::vector<int> keys;
  map.each([&](int key, int) { keys.push_back(key); });
  EXPECT_EQ(keys, (std::vector{1, 5, 9}));
}

TEST(RecentMap, HasRoomForOthersWhereEntriesWereErased) {
  RecentMap<int, int> map(4);
  for (int key = 0; key < 4; ++key) map.use(key) = key;
  int sum = 0;
  map.erase_within(1, 3, [&](int value) { sum += value; });
  EXPECT_EQ(sum, 1 + 2);
  map.erase_if([](int key) { return key == 3; });
  for (int key = 4; key < 7; ++key) map.use(key);
  for (const int key : {0, 4, 5, 6}) EXPECT_NE(map.find(key), nullptr) << key;
  map.use(7);
  EXPECT_EQ(map.find(0), nullptr);
  map.clear();
  EXPECT_EQ(map.find(7), nullptr);
  map.use(8);
  EXPECT_NE(map.find(8), nullptr);
}

}  // namespace
}  // namespace blastoff::platform
