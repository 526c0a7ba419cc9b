// Effects that a program which uses CUDA itself must not notice, and the choice of the GPU. Skipped without a GPU.
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "device/driver_sharing.h"
#include "device/gpu/cuda/driver.h"
#include "device_fixture.h"
#include "reference_blas.h"
#include "test_call.h"

namespace blastoff::test {
namespace {

namespace api = device::gpu::cuda::api;
using device::ErrorKind;

class CudaTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (device_ == nullptr) return;
    ASSERT_OK(device::gpu::cuda::load_driver());
    driver_ = device::gpu::cuda::functions();
  }

  /// All operands are the same matrix.
  void multiply_on(device::Queue& stream, const DeviceMemory& memory) {
    const TestCall test(blas::Routine::dgemm, {}, 32, 32, 32, 1, 0);
    blas::Call call = test.call();
    for (auto& operand : call.operands())
      operand.address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory.address()));
    ASSERT_OK(stream.execute(call, host_));
    ASSERT_OK(stream.synchronize());
  }

  /// Does everything with a device that a call does.
  void use_device() {
    const auto stream = queue();
    const auto point = event();
    const DeviceMemory memory(*device_, 1 << 20);
    upload(*stream, memory.address(), pattern(1 << 20, 1));
    ASSERT_OK(stream->record(*point));
    ASSERT_OK(point->synchronize());
    multiply_on(*stream, memory);
    ASSERT_OK(device_->memory_info());
    (void)device_->registered_by_program(&driver_);
    (void)device_->allocate(device::MemoryClient::copies, std::size_t{1} << 60);
  }

  api::CUcontext current() const {
    api::CUcontext context = nullptr;
    EXPECT_EQ(driver_.cuCtxGetCurrent(&context), api::success);
    return context;
  }

  api::Driver driver_;
  reference::ReferenceRoutine host_;
};
INSTANTIATE_TEST_SUITE_P(, CudaTest, testing::Values("cuda"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(CudaTest, AQueueTakesItsWorkspaceWithItsFirstOperation) {
  const auto workspaces = [&] { return device_->accountant().held(device::MemoryClient::workspaces).now; };
  const std::size_t before = workspaces();
  {
    const auto stream = queue();
    const DeviceMemory memory(*device_, 1 << 20);
    upload(*stream, memory.address(), pattern(1 << 20, 1));
    EXPECT_EQ(workspaces(), before) << "copies need none";
    multiply_on(*stream, memory);
    EXPECT_GT(workspaces(), before);
  }
  EXPECT_EQ(workspaces(), before);
}

TEST_P(CudaTest, AThreadWithoutAContextHasNoneAfterwards) {
  ASSERT_EQ(current(), nullptr);
  use_device();
  EXPECT_EQ(current(), nullptr);
}

TEST_P(CudaTest, AThreadsOwnContextStaysCurrent) {
  api::CUdevice ordinal = 0;
  api::CUcontext own = nullptr;
  ASSERT_EQ(driver_.cuDeviceGet(&ordinal, device_->properties().index), api::success);
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&own, ordinal), api::success);
  ASSERT_EQ(driver_.cuCtxPushCurrent_v2(own), api::success);
  use_device();
  EXPECT_EQ(current(), own);
  api::CUcontext popped = nullptr;
  driver_.cuCtxPopCurrent_v2(&popped);
  EXPECT_EQ(popped, own);
  EXPECT_EQ(current(), nullptr);
  driver_.cuDevicePrimaryCtxRelease_v2(ordinal);
}

TEST_P(CudaTest, ItsContextIsCurrentForTheOneWhoEnters) {
  api::CUdevice ordinal = 0;
  api::CUcontext primary = nullptr;
  ASSERT_EQ(driver_.cuDeviceGet(&ordinal, device_->properties().index), api::success);
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&primary, ordinal), api::success);
  ASSERT_OK(device_->enter());
  EXPECT_EQ(current(), primary);
  use_device();
  EXPECT_EQ(current(), primary);
  device_->leave();
  EXPECT_EQ(current(), nullptr);
  driver_.cuDevicePrimaryCtxRelease_v2(ordinal);
}

TEST_P(CudaTest, MemoryThatTheProgramRegisteredIsKnown) {
  // No library is asked while only we use the driver. This program opens it without our notice.
  device::note_library({"libcuda.so.1", "libmpi.so.40"});
  api::CUdevice ordinal = 0;
  api::CUcontext own = nullptr;
  ASSERT_EQ(driver_.cuDeviceGet(&ordinal, device_->properties().index), api::success);
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&own, ordinal), api::success);
  ASSERT_EQ(driver_.cuCtxPushCurrent_v2(own), api::success);
  void* allocated = nullptr;
  ASSERT_EQ(driver_.cuMemHostAlloc(&allocated, 1 << 20, 0), api::success);
  void* registered = std::aligned_alloc(4096, 1 << 20);
  ASSERT_EQ(driver_.cuMemHostRegister_v2(registered, 1 << 20, 0), api::success);
  Bytes ordinary(1 << 20);
  EXPECT_TRUE(device_->registered_by_program(allocated));
  EXPECT_TRUE(device_->registered_by_program(static_cast<char*>(registered) + 5000));
  EXPECT_FALSE(device_->registered_by_program(ordinary.data()));
  driver_.cuMemHostUnregister(registered);
  EXPECT_FALSE(device_->registered_by_program(registered));
  driver_.cuMemFreeHost(allocated);
  std::free(registered);
  api::CUcontext popped = nullptr;
  driver_.cuCtxPopCurrent_v2(&popped);
  driver_.cuDevicePrimaryCtxRelease_v2(ordinal);
}

TEST_P(CudaTest, SignalsOfTheOpeningThreadStayAsTheyWere) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  device::Choice choice;
  ASSERT_OK(device::open(choice));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

TEST_P(CudaTest, GpusAreChosenByNumberOrRank) {
  device::Choice choice;
  choice.name = "cuda:0";
  auto first = device::open(choice);
  ASSERT_OK(first);
  EXPECT_EQ((*first)->properties().index, 0);
  choice.name = "cuda";
  choice.local_rank = 7;
  auto by_rank = device::open(choice);
  ASSERT_OK(by_rank);
  EXPECT_LE((*by_rank)->properties().index, 7);
}

TEST_P(CudaTest, AGpuThatIsNotThereIsRefusedWithThoseThatAre) {
  for (const char* name : {"cuda:99", "cuda:", "cuda:-1", "cuda:one", "cuda:0x"}) {
    device::Choice choice;
    choice.name = name;
    const auto opened = device::open(choice);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
    EXPECT_NE(opened.error().message.find("cuda:0 ("), std::string::npos) << opened.error().message;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

/// Runs in a separate process, because the context is unusable afterwards. The exit status says what went wrong.
[[noreturn]] void lose_a_device() {
  device::Choice choice;
  auto opened = device::open(choice);
  if (!opened) std::_Exit(1);
  auto& device = **opened;
  auto queue = *device.create_queue();
  const reference::ReferenceRoutine host;
  const TestCall test(blas::Routine::dgemm, {}, 64, 64, 64, 1, 0);
  blas::Call call = test.call();
  for (auto& operand : call.operands()) operand.address = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
  (void)queue->execute(call, host);
  const auto found = queue->synchronize();
  if (found || found.error().kind != ErrorKind::lost) std::_Exit(2);
  const auto allocated = device.allocate(device::MemoryClient::copies, 4096);
  if (allocated || allocated.error().kind != ErrorKind::lost) std::_Exit(3);
  if (allocated.error().message != found.error().message) std::_Exit(4);
  if (device.create_event() || queue->synchronize()) std::_Exit(5);
  std::_Exit(0);
}

TEST_P(CudaTest, AnIllegalAddressLosesTheDeviceAndLaterCallsSaySo) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(lose_a_device(), testing::ExitedWithCode(0), "");
}

TEST(OpenDevice, OtherNamesAreRefusedWithWhatIsAccepted) {
  for (const char* name : {"", "gpu", "cudax", "none"}) {
    device::Choice choice;
    choice.name = name;
    const auto opened = device::open(choice);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
    for (const char* accepted : {"cuda,", "cuda:N", "simulated"}) {
      EXPECT_NE(opened.error().message.find(accepted), std::string::npos) << opened.error().message;
    }
  }
}

TEST(ListDevices, TakesApartWhatNamesSeveral) {
  device::Choice choice;
  const auto names = [&](const char* name) {
    choice.name = name;
    return device::list(choice).value_or(std::vector<std::string>());
  };
  EXPECT_EQ(names("cuda"), (std::vector<std::string>{"cuda"}));
  EXPECT_EQ(names("cuda:1"), (std::vector<std::string>{"cuda:1"}));
  EXPECT_EQ(names("cuda:2,0"), (std::vector<std::string>{"cuda:2", "cuda:0"}));
  choice.simulated_devices = 3;
  EXPECT_EQ(names("simulated:all"), (std::vector<std::string>{"simulated:0", "simulated:1", "simulated:2"}));
}

TEST(ListDevices, FaultsMayBeThoseOfOne) {
  device::Choice choice;
  choice.simulated_fault = "1/event:1";
  for (const char* name : {"simulated", "simulated:0", "simulated:1"}) {
    choice.name = name;
    const auto device = device::open(choice);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ((*device)->create_event().has_value(), choice.name != "simulated:1") << name;
  }
}

/// Work on the program's streams, given by their handles, is in order with our queues.
TEST_P(CudaTest, StreamsOfTheProgramTakePart) {
  const auto ours = queue();
  const auto uploaded = event();
  const auto copied = event();
  const Bytes source = pattern(1 << 20, 3);
  const DeviceMemory memory(*device_, source.size());
  api::CUcontext context = nullptr;
  ASSERT_EQ(driver_.cuDevicePrimaryCtxRetain(&context, device_->properties().index), api::success);
  ASSERT_EQ(driver_.cuCtxPushCurrent_v2(context), api::success);
  api::CUstream stream = nullptr;
  ASSERT_EQ(driver_.cuStreamCreate(&stream, api::stream_non_blocking), api::success);
  {
    auto theirs = device_->adopt_queue(stream);
    ASSERT_OK(theirs);
    Bytes result(source.size());
    ASSERT_OK(ours->copy_to_device(memory.address(), source.data(), run_of(source.size())));
    ASSERT_OK(ours->record(*uploaded));
    ASSERT_OK((*theirs)->wait(*uploaded));
    ASSERT_OK((*theirs)->copy_to_host(result.data(), memory.address(), run_of(source.size())));
    ASSERT_OK((*theirs)->record(*copied));
    ASSERT_OK(copied->synchronize());
    EXPECT_EQ(result, source);
  }
  EXPECT_EQ(driver_.cuStreamSynchronize(stream), api::success) << "it is still the program's";
  EXPECT_EQ(driver_.cuStreamDestroy_v2(stream), api::success);
  EXPECT_EQ(driver_.cuCtxPopCurrent_v2(&context), api::success);
  EXPECT_EQ(driver_.cuDevicePrimaryCtxRelease_v2(device_->properties().index), api::success);
}

}  // namespace
}  // namespace blastoff::test
