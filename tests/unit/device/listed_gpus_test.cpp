// The GPUs that the kernel's driver lists.
#include "device/gpu/cuda/listed_gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace blastoff::device::gpu::cuda {
namespace {

class ListedGpus : public testing::Test {
 protected:
  void add(const std::string& bus, const std::string& information) const {
    std::filesystem::create_directories(folder_ / bus);
    std::ofstream(folder_ / bus / "information") << information;
  }
  std::string name() const { return listed_gpus(folder_.string()).name; }
  int count() const { return listed_gpus(folder_.string()).devices; }
  void TearDown() override { std::filesystem::remove_all(folder_); }

 private:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  ("gpus-" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ListedGpus, ShareAName) {
  for (const char* const bus : {"0000:17:00.0", "0000:65:00.0"})
    add(bus, "Model: \t\t NVIDIA H200\nIRQ:   \t\t 24\nGPU UUID: \t GPU-0\n");
  EXPECT_EQ(name(), "NVIDIA H200");
  EXPECT_EQ(count(), 2);
}

TEST_F(ListedGpus, OfSeveralNamesAreNotTold) {
  add("0000:17:00.0", "Model: \t\t NVIDIA H200\n");
  add("0000:65:00.0", "Model: \t\t NVIDIA A2\n");
  EXPECT_EQ(name(), "");
  EXPECT_EQ(count(), 2);
}

TEST_F(ListedGpus, AreNotThereWithoutADriver) {
  EXPECT_EQ(name(), "");
  EXPECT_EQ(count(), 0);
  add("0000:17:00.0", "IRQ: 24\n");
  EXPECT_EQ(name(), "");
}

TEST(Sharers, AreTheRanksForEachDevice) {
  ASSERT_EQ(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
  EXPECT_EQ(expected_sharers("cuda", 2, 16), 8);
  EXPECT_EQ(expected_sharers("cuda", 4, 6), 2);
  EXPECT_EQ(expected_sharers("cuda", 4, 1), 1);
  EXPECT_EQ(expected_sharers("cuda", 0, 16), 1) << "nobody knows";
  EXPECT_EQ(expected_sharers("cuda:0", 2, 16), 1) << "each rank may name another one";
  EXPECT_EQ(expected_sharers("no such device", 2, 16), 1);
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "0", 1), 0);
  EXPECT_EQ(expected_sharers("cuda", 2, 16), 1) << "each rank may see another one";
  ASSERT_EQ(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
}

}  // namespace
}  // namespace blastoff::device::gpu::cuda
