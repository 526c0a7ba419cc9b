// Devices that can access the program's own memory, and devices that cannot. The fake GPU can be of each kind
// (FAKE_GPU_ACCESS).
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "device_fixture.h"
#include "reference_blas.h"
#include "residency_case.h"

namespace blastoff::test {
namespace {

using device::HostAccess;

class HostAccessTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device_ != nullptr) access_ = device_->properties().host_access;
  }

  HostAccess access_ = HostAccess::none;
};
INSTANTIATE_TEST_SUITE_P(, HostAccessTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(HostAccessTest, IsWhatTheDriverSays) {
  const char* const fake = std::getenv("FAKE_GPU_ACCESS");
  if (fake == nullptr) GTEST_SKIP() << "this GPU is " << device::to_string(access_);
  EXPECT_EQ(std::string_view(device::to_string(access_)), fake);
  EXPECT_EQ(device_->properties().memory_node, access_ == HostAccess::coherent ? 0 : -1);
}

TEST_P(HostAccessTest, TheNodeCanBeNamed) {
  device::Choice choice;
  choice.memory_node = 5;
  const auto opened = device::open(choice);
  ASSERT_OK(opened);
  EXPECT_EQ((*opened)->properties().memory_node, 5);
}

TEST_P(HostAccessTest, OperationsTakeTheProgramsOwnAddresses) {
  if (access_ == HostAccess::none) GTEST_SKIP() << "this GPU reaches its own memory alone";
  const reference::ReferenceRoutine host;
  const auto stream = queue();
  for (const auto routine : {blas::Routine::dgemm, blas::Routine::ztrsm, blas::Routine::dgemmt}) {
    Case test(options_of(routine, 33, 33, 20, 1), 3, Edge::last_element);
    test.expect();
    ASSERT_OK(stream->execute(test.call(), host));
    ASSERT_OK(stream->synchronize());
    test.expect_right("in place");
  }
}

TEST_P(HostAccessTest, MigratesWhereItCanAndSaysSoWhereItCannot) {
  const auto stream = queue();
  Bytes memory(1 << 20);
  const auto asked = stream->prefetch(memory.data(), memory.size());
  if (access_ == HostAccess::pageable || access_ == HostAccess::coherent) {
    ASSERT_OK(asked);
    ASSERT_OK(stream->synchronize());
  } else {
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().kind, device::ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace blastoff::test
