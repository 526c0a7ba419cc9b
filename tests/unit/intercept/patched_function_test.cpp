#include "intercept/patch/patched_function.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <vector>

namespace blastoff::intercept {
namespace {

std::vector<std::unique_ptr<PatchedFunction>> functions_at(std::initializer_list<const void*> addresses) {
  std::vector<std::unique_ptr<PatchedFunction>> functions;
  for (const void* const address : addresses) {
    functions.push_back(std::make_unique<PatchedFunction>());
    functions.back()->address = address;
  }
  return functions;
}

TEST(PatchedFunctions, AreFoundByTheirAddresses) {
  static const char code[4] = {};
  publish(make_record({1, functions_at({&code[0], &code[1]}), {}}));
  publish(make_record({2, {}, {}}));
  publish(make_record({3, functions_at({&code[2]}), {}}));
  for (int i = 0; i < 3; ++i) {
    const auto found = find_patched(&code[i]);
    ASSERT_TRUE(found) << i;
    EXPECT_EQ(found->address, &code[i]);
  }
  EXPECT_FALSE(find_patched(&code[3]));
  withdraw(1);
  EXPECT_FALSE(find_patched(&code[0]));
  EXPECT_TRUE(find_patched(&code[2]));
}

}  // namespace
}  // namespace blastoff::intercept
