#include "intercept/loaded_objects.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace blastoff::intercept {
namespace {

std::set<std::string, std::less<>>& known() {
  static std::set<std::string, std::less<>> paths;
  return paths;
}

bool unknown(const ObjectIdentity& object) {
  return !known().contains(object.path);
}

TEST(LoadedObjects, OnlyThoseThatAreWantedAreDescribed) {
  for (const LoadedObject& object : loaded_objects()) known().insert(object.path);
  ASSERT_GT(known().size(), 2U);
  EXPECT_EQ(loaded_objects(unknown).size(), 0U);
  const auto any = std::find_if(known().begin(), known().end(), [](const auto& path) { return !path.empty(); });
  const auto forgotten = known().extract(any);
  const auto found = loaded_objects(unknown);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().path, forgotten.value());
  EXPECT_LT(found.front().begin, found.front().end);
}

TEST(LoadedObjects, AnAddressOfThisProgramAndOfNone) {
  static const int constant = 1;
  static int variable = 1;
  int local = 1;
  EXPECT_TRUE(in_own_object(&constant));
  EXPECT_TRUE(in_own_object(&variable));
  EXPECT_TRUE(in_own_object(reinterpret_cast<const void*>(&unknown)));
  EXPECT_FALSE(in_own_object(&local));
  EXPECT_FALSE(in_own_object(dlsym(RTLD_DEFAULT, "dlsym")));
  EXPECT_FALSE(in_own_object(nullptr));
}

}  // namespace
}  // namespace blastoff::intercept
