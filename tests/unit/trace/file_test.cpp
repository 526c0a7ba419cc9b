// The file of a trace never exceeds its limit, and its weights add up to the calls.
#include "trace/file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace blastoff::trace {
namespace {

TEST(TraceFile, StaysBelowItsLimit) {
  const std::string path = testing::TempDir() + "/limited.trace";
  std::ofstream(path) << "header\n";
  constexpr std::size_t limit = 2 << 20;
  constexpr int calls = 40'000;
  File file(path, 7, limit, false);
  double stood_for = 0;
  std::uint64_t largest = 1;
  for (int i = 0; i < calls; ++i) {
    if (!file.takes_next()) continue;
    stood_for += static_cast<double>(file.weight());
    largest = std::max(largest, file.weight());
    file.append(std::string(99, 'x'));
  }
  file.flush();
  EXPECT_LE(std::filesystem::file_size(path), limit);
  EXPECT_GT(std::filesystem::file_size(path), limit / 2);
  EXPECT_GT(largest, 2U);
  EXPECT_NEAR(stood_for / calls, 1, 0.1);
}

TEST(TraceFile, WritesEachCallAtOnceWhereTheProcessMayEndAnyTime) {
  const std::string path = testing::TempDir() + "/at-once.trace";
  for (const bool at_once : {false, true}) {
    std::ofstream(path) << "header\n";
    File file(path, 7, 1 << 20, at_once);
    for (int call = 1; call <= 20; ++call) {
      file.append("call");
      EXPECT_EQ(std::filesystem::file_size(path), at_once ? 7U + 5U * call : 7U);
    }
  }
}

TEST(TraceFile, GivesUpWhereItCannotBeWritten) {
  File file("/nowhere/at/all.trace", 0, 1 << 20, false);
  EXPECT_TRUE(file.takes_next());
  testing::internal::CaptureStderr();
  file.append("line");
  file.flush();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot write the trace /nowhere/at/all.trace"),
            std::string::npos);
  EXPECT_FALSE(file.takes_next());
}

}  // namespace
}  // namespace blastoff::trace
