#include "device/cuda/cuda_users.h"

#include <gtest/gtest.h>

namespace blastoff::device::cuda {
namespace {

bool opened(std::string_view name, std::string_view by) {
  return shows_cuda_use({name, by, {}});
}

bool found(std::string_view name, const std::vector<std::string>& needed) {
  return shows_cuda_use({name, "", needed});
}

TEST(CudaUsers, TheRuntimeShowsItHoweverItCame) {
  EXPECT_TRUE(opened("libcudart.so.12", "libtorch_cuda.so"));
  EXPECT_TRUE(found("libcudart.so.13", {"libc.so.6"}));
}

TEST(CudaUsers, SoDoesWhoeverOpensTheDriver) {
  EXPECT_TRUE(opened("libcuda.so.1", "a.out"));
  EXPECT_TRUE(opened("libcuda.so", "libcudart.so.12"));
  EXPECT_TRUE(opened("libcuda.so.1", "_ctypes.cpython-312-x86_64-linux-gnu.so"));
}

TEST(CudaUsers, AndWhatIsLinkedAgainstIt) {
  EXPECT_TRUE(found("_driver.cpython-312-x86_64-linux-gnu.so", {"libc.so.6", "libcuda.so.1"}));
  EXPECT_FALSE(found("libm.so.6", {"libc.so.6"}));
}

TEST(CudaUsers, LibrariesThatWeOpenOurselvesDoNot) {
  EXPECT_FALSE(opened("libcuda.so.1", "libcublasLt.so.13"));
  EXPECT_FALSE(opened("libcuda.so.1", "libblastoff.so"));
  EXPECT_FALSE(found("libcublas.so.13", {"libcublasLt.so.13", "libc.so.6"}));
  EXPECT_FALSE(found("libcuda.so.1", {"libc.so.6"}));
}

TEST(CudaUsers, NorDoCommunicationLibrariesThatStandReady) {
  EXPECT_FALSE(found("libuct_cuda.so.0", {"libcuda.so.1", "libucs.so.0"}));
  EXPECT_FALSE(opened("libcuda.so.1", "mca_accelerator_cuda.so"));
}

TEST(CudaUsers, NamesThatMerelyBeginAlikeAreOthers) {
  EXPECT_FALSE(opened("libcudadebugger.so.1", "a.out"));
  EXPECT_FALSE(opened("libcudnn.so.9", "a.out"));
}

}  // namespace
}  // namespace blastoff::device::cuda
