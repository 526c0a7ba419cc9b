#include "intercept/object_instances.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "intercept/loading/linker_changes.h"

namespace blastoff::intercept {
namespace {

const std::string plugin = std::string(FIXTURES) + "/libfixture_reloaded.so";
const std::string other = std::string(FIXTURES) + "/libfixture_behind.so";

void* open(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle;
}

InstanceNumber number_of(void* handle, const char* symbol) {
  number_instances();
  return instance_at(dlsym(handle, symbol));
}

TEST(ObjectInstances, HaveANewNumberEachTimeTheyAreLoaded) {
  number_instances();
  const InstanceNumber program = instance_at(reinterpret_cast<const void*>(&number_of));
  void* handle = open(plugin);
  const InstanceNumber first = number_of(handle, "foreign_call_survives");
  EXPECT_NE(first, 0U);
  EXPECT_TRUE(is_loaded(first));
  dlclose(handle);
  handle = open(plugin);
  const InstanceNumber second = number_of(handle, "foreign_call_survives");
  EXPECT_NE(second, first);
  EXPECT_FALSE(is_loaded(first));
  EXPECT_TRUE(is_loaded(second));
  EXPECT_EQ(instance_at(reinterpret_cast<const void*>(&number_of)), program);
  dlclose(handle);
  number_instances();
  EXPECT_FALSE(is_loaded(second));
}

TEST(ObjectInstances, KnowTheBiasesOfLoadedObjects) {
  number_instances();
  void* const handle = open(plugin);
  const InstanceNumber number = number_of(handle, "foreign_call_survives");
  const auto object = object_of(dlsym(handle, "foreign_call_survives"));
  ASSERT_TRUE(object);
  const std::vector<InstanceNumber> asked{number, number + 1000};
  EXPECT_EQ(biases_of(asked), std::vector<std::uintptr_t>{object->bias});
  const std::vector<InstanceNumber> loaded = loaded_instances();
  EXPECT_TRUE(std::ranges::is_sorted(loaded));
  EXPECT_TRUE(std::ranges::binary_search(loaded, number));
  dlclose(handle);
  number_instances();
  EXPECT_TRUE(biases_of(asked).empty());
}

/// An object was loaded after it and unloaded again between two numberings.
TEST(ObjectInstances, KeepTheirNumberByTheirMark) {
  void* const handle = open(plugin);
  const InstanceNumber first = number_of(handle, "foreign_call_survives");
  const auto* const code = static_cast<const std::byte*>(dlsym(handle, "foreign_call_survives"));
  mark_instance(first, reinterpret_cast<std::uintptr_t>(code), {code, 8});
  dlclose(open(other));
  EXPECT_EQ(number_of(handle, "foreign_call_survives"), first);
  dlclose(handle);
}

TEST(LinkerChanges, AreNoticedWhoeverMakesThem) {
  notice_changes();
  const std::uint64_t before = linker_changes();
  ASSERT_NE(before, 0U);
  void* const c_library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const auto close = reinterpret_cast<int (*)(void*)>(dlsym(c_library, "dlclose"));
  void* const handle = open(plugin);
  const std::uint64_t opened = linker_changes();
  EXPECT_GT(opened, before);
  close(handle);
  EXPECT_GT(linker_changes(), opened);
  const std::uint64_t closed = linker_changes();
  dlclose(open("libc.so.6"));
  EXPECT_EQ(linker_changes(), closed);
}

}  // namespace
}  // namespace blastoff::intercept
