#include "device/gpu/cuda/cuda_users.h"

#include <gtest/gtest.h>

namespace blastoff::device::gpu::cuda {
namespace {

DriverUse opened(std::string_view name, std::string_view by) {
  return cuda_use({name, by, {}});
}

DriverUse found(std::string_view name, const std::vector<std::string>& needed) {
  return cuda_use({name, "", needed});
}

TEST(CudaUsers, TheRuntimeShowsItHoweverItCame) {
  EXPECT_EQ(opened("libcudart.so.12", "libtorch_cuda.so"), DriverUse::used);
  EXPECT_EQ(found("libcudart.so.13", {"libc.so.6"}), DriverUse::used);
}

TEST(CudaUsers, SoDoesWhoeverOpensTheDriver) {
  EXPECT_EQ(opened("libcuda.so.1", "a.out"), DriverUse::used);
  EXPECT_EQ(opened("libcuda.so", "libcudart.so.12"), DriverUse::used);
  EXPECT_EQ(opened("libcuda.so.1", "_ctypes.cpython-312-x86_64-linux-gnu.so"), DriverUse::used);
}

TEST(CudaUsers, AndWhatIsLinkedAgainstIt) {
  EXPECT_EQ(found("_driver.cpython-312-x86_64-linux-gnu.so", {"libc.so.6", "libcuda.so.1"}), DriverUse::used);
  EXPECT_EQ(found("libm.so.6", {"libc.so.6"}), DriverUse::none);
}

TEST(CudaUsers, LibrariesThatWeOpenOurselvesDoNot) {
  EXPECT_EQ(opened("libcuda.so.1", "libcublasLt.so.13"), DriverUse::none);
  EXPECT_EQ(opened("libcuda.so.1", "libblastoff.so"), DriverUse::none);
  EXPECT_EQ(opened("libcuda.so.1", "libnvidia-ptxjitcompiler.so.580.159.04"), DriverUse::none);
  EXPECT_EQ(opened("libcuda.so.1", "libcuda.so.1"), DriverUse::none);
  EXPECT_EQ(found("libcublas.so.13", {"libcublasLt.so.13", "libc.so.6"}), DriverUse::none);
  EXPECT_EQ(opened("libcuda.so.1", "libnccl.so.2"), DriverUse::none);
  EXPECT_EQ(found("libcublasmp.so.0", {"libcuda.so.1", "libnccl.so.2", "libnvshmem_host.so.3"}), DriverUse::none);
  EXPECT_EQ(found("libcuda.so.1", {"libc.so.6"}), DriverUse::none);
}

TEST(CudaUsers, CommunicationLibrariesStandReady) {
  EXPECT_EQ(found("libuct_cuda.so.0", {"libcuda.so.1", "libucs.so.0"}), DriverUse::ready);
  EXPECT_EQ(opened("libcuda.so.1", "mca_accelerator_cuda.so"), DriverUse::ready);
}

TEST(CudaUsers, NamesThatMerelyBeginAlikeAreOthers) {
  EXPECT_EQ(opened("libcudadebugger.so.1", "a.out"), DriverUse::none);
  EXPECT_EQ(opened("libcudnn.so.9", "a.out"), DriverUse::none);
}

TEST(CudaUsers, TheDriversThreadsHaveTheirOwnNames) {
  EXPECT_TRUE(is_name_of_drivers_thread("cuda-EvtHandlr"));
  EXPECT_TRUE(is_name_of_drivers_thread("cuda00001400006"));
  for (const char* program : {"cuda", "cuda_solver", "cuda0000140000", "cudaSolver12345", "my-cuda00001400", ""}) {
    EXPECT_FALSE(is_name_of_drivers_thread(program)) << program;
  }
}

}  // namespace
}  // namespace blastoff::device::gpu::cuda
