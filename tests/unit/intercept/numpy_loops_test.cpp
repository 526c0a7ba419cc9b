// The loops of numpy.matmul are replaced only where NumPy's object is laid out as expected.
#include "intercept/blas/numpy_loops.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>

namespace blastoff::intercept {
namespace {

using Loop = void (*)(char**, const std::intptr_t*, const std::intptr_t*, void*);

int calls = 0;
void any_loop(char**, const std::intptr_t*, const std::intptr_t*, void*) {
  ++calls;
}

constexpr char name[] = "matmul";
constexpr char other_name[] = "matvec";
constexpr char letters[] = "???fffdddFFFDDD";
constexpr char numbers[] = {0, 0, 0, 11, 11, 11, 12, 12, 12, 14, 14, 14, 15, 15, 15};
constexpr char other_numbers[] = {0, 0, 0, 11, 11, 11, 13, 13, 13, 14, 14, 14, 15, 15, 15};
const std::array<Loop, 5> loops = {any_loop, any_loop, any_loop, any_loop, any_loop};
const std::array<Loop, 5> foreign_loops = {any_loop, any_loop, any_loop, any_loop,
                                           reinterpret_cast<Loop>(dlsym(RTLD_DEFAULT, "abort"))};

/// NumPy's object.
struct Object {
  int counts[4] = {2, 1, 3, -1};
  const Loop* loops = intercept::loops.data();
  void* const* data = nullptr;
  int loop_count = 5;
  int reserved = 0;
  const char* name = intercept::name;
  const char* types = numbers;
};

TEST(NumpyLoops, AreReplacedOnlyWhereTheyAreAsExpected) {
  const std::function<void(Object&)> changes[] = {
      [](Object& object) { object.counts[0] = 3; },
      [](Object& object) { object.counts[2] = 4; },
      [](Object& object) { object.loop_count = 4; },
      [](Object& object) { object.name = other_name; },
      [](Object& object) { object.name = nullptr; },
      [](Object& object) { object.types = other_numbers; },
      [](Object& object) { object.types = reinterpret_cast<const char*>(std::uintptr_t{8}); },
      [](Object& object) { object.loops = foreign_loops.data(); },
      [](Object& object) { object.loops = nullptr; },
  };
  for (const auto& change : changes) {
    Object object;
    change(object);
    const Loop* const before = object.loops;
    take_matmul(&object, letters);
    EXPECT_EQ(object.loops, before) << "change " << &change - changes;
  }

  Object object;
  take_matmul(&object, letters);
  ASSERT_NE(object.loops, loops.data());
  EXPECT_EQ(object.loops[0], &any_loop) << "no loop for floating-point numbers";
  for (int i = 1; i < 5; ++i) EXPECT_NE(object.loops[i], &any_loop) << i;
  const Loop* const taken = object.loops;
  take_matmul(&object, letters);
  EXPECT_EQ(object.loops, taken);

  char* arrays[3] = {};
  const std::intptr_t sizes[4] = {1, 3, 3, 3};
  const std::intptr_t steps[9] = {};
  for (int i = 1; i < 5; ++i) object.loops[i](arrays, sizes, steps, nullptr);
  EXPECT_EQ(calls, 4) << "one product is left to NumPy's loop";
}

}  // namespace
}  // namespace blastoff::intercept
