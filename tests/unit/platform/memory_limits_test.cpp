#include "platform/memory_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "child.h"
#include "platform/process.h"
#include "temporary_folder.h"

namespace blastoff::platform {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Simulates control groups by files.
class MemoryOfGroups : public ::testing::Test {
 protected:
  void limit(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ + file).substr(0, (root_ + file).rfind('/')));
    std::ofstream(root_ + file) << text << "\n";
  }

  const test::TemporaryFolder folder_{};
  const std::string root_ = folder_.path;
};

TEST_F(MemoryOfGroups, TheLeastOnTheWayUp) {
  limit("/job/memory.max", "1048576");
  limit("/job/step/memory.max", "4194304");
  limit("/job/step/task/memory.max", "max");
  EXPECT_EQ(memory_of_groups("0::/job/step/task\n", root_), 1048576u);
  EXPECT_EQ(memory_of_groups("0::/job/other\n", root_), 1048576u);
  EXPECT_EQ(memory_of_groups("0::/elsewhere\n", root_), unlimited);
}

TEST_F(MemoryOfGroups, OfTheFirstVersion) {
  limit("/memory/job/memory.limit_in_bytes", "2097152");
  limit("/cpu/job/memory.limit_in_bytes", "1");
  EXPECT_EQ(memory_of_groups("5:cpu:/job\n4:memory:/job\n0::/\n", root_), 2097152u);
}

TEST_F(MemoryOfGroups, WhatIsLeftIsWithoutPagesOfFiles) {
  limit("/job/memory.max", "1000000");
  limit("/job/memory.current", "900000");
  limit("/job/memory.stat", "anon 500000\nfile 400000\ninactive_file 300000");
  limit("/job/step/memory.max", "max");
  EXPECT_EQ(memory_left_in_groups("0::/job/step\n", root_), 400000u);
  limit("/memory/job/memory.limit_in_bytes", "2000000");
  limit("/memory/job/memory.usage_in_bytes", "3000000");
  EXPECT_EQ(memory_left_in_groups("4:memory:/job\n", root_), 0u);
  EXPECT_EQ(memory_left_in_groups("0::/elsewhere\n", root_), unlimited);
}

TEST_F(MemoryOfGroups, NoneAndNonsense) {
  EXPECT_EQ(memory_of_groups("", root_), unlimited);
  EXPECT_EQ(memory_of_groups("no colon\n1:one\n", root_), unlimited);
}

TEST(MemoryLimits, UsableMemoryIsNoMoreThanThereIs) {
  EXPECT_GT(usable_memory(), 0u);
  EXPECT_LE(usable_memory(), physical_memory());
}

/// Runs the body in a child that has the limit.
template <class Body>
int under(__rlimit_resource what, std::size_t bytes, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limits = {bytes, bytes};
    _exit(setrlimit(what, &limits) == 0 && body() ? 0 : 1);
  }
  return test::status_of(child);
}

TEST(MemoryLimits, MemoryLeftIsAPartOfAll) {
  EXPECT_GT(memory_left(), mebibyte);
  EXPECT_LT(memory_left(), physical_memory());
}

TEST(MemoryLimits, AddressSpaceLeft) {
  constexpr std::size_t large = std::size_t{1} << 50;
  const auto left_of = [](std::size_t limit) {
    return [limit] { return address_space_left() < limit && address_space_left() > limit - (limit >> 4); };
  };
  EXPECT_EQ(under(RLIMIT_AS, large, left_of(large)), 0);
  EXPECT_EQ(under(RLIMIT_DATA, large, left_of(large)), 0);
  EXPECT_EQ(under(RLIMIT_AS, mebibyte, [] { return address_space_left() == 0; }), 0);
}

}  // namespace
}  // namespace blastoff::platform
