#include "platform/log.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace blastoff::platform {
namespace {

TEST(Log, WritesOneLineAndKeepsErrno) {
  testing::internal::CaptureStderr();
  errno = ENOENT;
  log_line("%s has %d pages", "matrix", 7);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "blastoff: matrix has 7 pages\n");
}

TEST(Log, CutsLongLines) {
  testing::internal::CaptureStderr();
  log_line("%s", std::string(5000, 'x').c_str());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "blastoff: " + std::string(1000, 'x') + "\n");
}

}  // namespace
}  // namespace blastoff::platform
