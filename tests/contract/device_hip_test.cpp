// The table of device/gpu filled from another driver than CUDA's: what a program that uses HIP itself must not notice,
// and errors. Skipped without the fake HIP driver.
#include <cstdlib>

#include <gtest/gtest.h>

#include "device/driver_sharing.h"
#include "device_fixture.h"

namespace blastoff::test {
namespace {

using device::ErrorKind;
using fake_hip::hip;
using fake_hip::hipSuccess;

class HipTest : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(, HipTest, testing::Values("hip"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(HipTest, GpusAreChosenByNumber) {
  device::Choice choice;
  choice.name = "hip:0";
  const auto first = fake_hip::open(choice);
  ASSERT_OK(first);
  EXPECT_EQ((*first)->properties().index, 0);
  choice.name = "hip:99";
  const auto refused = fake_hip::open(choice);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no GPU hip:99; there is hip:0 (fake GPU)");
}

TEST_P(HipTest, MemoryThatTheProgramRegisteredIsKnown) {
  device::note_library({"libcuda.so.1", "libmpi.so.40"});
  void* allocated = nullptr;
  ASSERT_EQ(hip().hipHostMalloc(&allocated, 1 << 20, 0), hipSuccess);
  void* registered = std::aligned_alloc(4096, 1 << 20);
  ASSERT_EQ(hip().hipHostRegister(registered, 1 << 20, 0), hipSuccess);
  Bytes ordinary(1 << 20);
  EXPECT_TRUE(device_->registered_by_program(allocated));
  EXPECT_TRUE(device_->registered_by_program(static_cast<char*>(registered) + 5000));
  EXPECT_FALSE(device_->registered_by_program(ordinary.data()));
  hip().hipHostUnregister(registered);
  EXPECT_FALSE(device_->registered_by_program(registered));
  hip().hipHostFree(allocated);
  std::free(registered);
}

/// Work on the program's streams, given by their handles, is in order with our queues.
TEST_P(HipTest, StreamsOfTheProgramTakePart) {
  const auto ours = queue();
  const auto uploaded = event();
  const Bytes source = pattern(1 << 20, 3);
  const DeviceMemory memory(*device_, source.size());
  fake_hip::hipStream_t stream = nullptr;
  ASSERT_EQ(hip().hipStreamCreateWithFlags(&stream, 1), hipSuccess);
  {
    auto theirs = device_->adopt_queue(stream);
    ASSERT_OK(theirs);
    ASSERT_OK(ours->copy_to_device(memory.address(), source.data(), run_of(source.size())));
    ASSERT_OK(ours->record(*uploaded));
    ASSERT_OK((*theirs)->wait(*uploaded));
    EXPECT_EQ(download(**theirs, memory.address(), source.size()), source);
  }
  EXPECT_EQ(hip().hipStreamSynchronize(stream), hipSuccess) << "it is still the program's";
  EXPECT_EQ(hip().hipStreamDestroy(stream), hipSuccess);
}

/// Runs in a separate process, because the device is unusable afterwards. The exit status says what went wrong.
[[noreturn]] void leave_a_device_and_lose_one() {
  setenv("FAKE_GPU_COUNT", "2", 1);
  device::Choice choice;
  choice.name = "hip:0";
  auto opened = fake_hip::open(choice);
  if (!opened) std::_Exit(1);
  auto& device = **opened;
  choice.name = "cuda:1";
  const auto of_another_vendor = device::open(choice);
  if (!of_another_vendor || device.copies_from(**of_another_vendor)) std::_Exit(6);
  hip().hipSetDevice(1);
  const auto queue = *device.create_queue();
  Bytes bytes(64);
  const bool copied =
      queue->copy_to_device(*device.allocate(device::MemoryClient::copies, 64), bytes.data(), run_of(64)).has_value();
  int current = 0;
  hip().hipGetDevice(&current);
  if (!copied || current != 1) std::_Exit(2);
  (void)queue->copy_to_host(bytes.data(), std::uintptr_t{1} << 20, run_of(64));
  const auto found = queue->synchronize();
  if (found || found.error().kind != ErrorKind::lost) std::_Exit(3);
  const auto allocated = device.allocate(device::MemoryClient::copies, 4096);
  if (allocated || allocated.error().kind != ErrorKind::lost) std::_Exit(4);
  if (allocated.error().message != found.error().message) std::_Exit(5);
  std::_Exit(0);
}

TEST_P(HipTest, TheThreadsDeviceStaysAndAnIllegalAddressLosesOurs) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(leave_a_device_and_lose_one(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace blastoff::test
