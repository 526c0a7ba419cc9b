#include "intercept/loaded_objects.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace blastoff::intercept {
namespace {

TEST(LoadedObjects, AreFoundByTheirBias) {
  EXPECT_TRUE(objects_with_bias({}).empty());
  const std::vector<LoadedObject> all = loaded_objects();
  ASSERT_GT(all.size(), 2U);
  const std::vector<std::uintptr_t> biases{all.back().bias, all[1].bias, 1};
  const std::vector<LoadedObject> found = objects_with_bias(biases);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.front().path, all[1].path);
  EXPECT_EQ(found.back().path, all.back().path);
  EXPECT_EQ(found.back().begin, all.back().begin);
  EXPECT_EQ(found.back().needed, all.back().needed);
}

int function_of_this_program() {
  return 1;
}

TEST(LoadedObjects, AnAddressOfThisProgramAndOfNone) {
  static const int constant = 1;
  static int variable = 1;
  int local = 1;
  EXPECT_TRUE(in_own_object(&constant));
  EXPECT_TRUE(in_own_object(&variable));
  EXPECT_TRUE(in_own_object(reinterpret_cast<const void*>(&function_of_this_program)));
  EXPECT_FALSE(in_own_object(&local));
  EXPECT_FALSE(in_own_object(dlsym(RTLD_DEFAULT, "dlsym")));
  EXPECT_FALSE(in_own_object(nullptr));
}

}  // namespace
}  // namespace blastoff::intercept
