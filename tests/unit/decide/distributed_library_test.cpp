// What NVIDIA's libraries for many GPUs are expected to take, computed by hand.
#include "decide/distributed_library.h"

#include <gtest/gtest.h>

#include <array>

#include "blas_front_end.h"
#include "product_call.h"

namespace blastoff::decide {
namespace {

constexpr std::int64_t order = 10240;

operation::Operation product() {
  static std::array<char, 3> memory;
  return test::product_call({&memory[0], &memory[1], &memory[2]}, order, order, order, 1);
}

class DistributedLibrary : public testing::Test {
 protected:
  DistributedLibrary() {
    model_.device_seconds = 0;
    model_.to_device = 1e10;
    model_.from_device = 2e10;
    model_.device_rates.set({Family::gemm, Precision::d}, std::array{RatePoint{1, 1e12}});
  }
  LibrarySeconds on(const GpuGrid& grid) const {
    return library_seconds(model_, {.solve = solve_, .ranks = 8, .moving = 3}, grid);
  }

  const operation::Operation solve_ = product();
  const double flops_ = 2.0 * order * order * order;
  const double matrix_ = 8.0 * order * order;
  MachineModel model_;
};

TEST_F(DistributedLibrary, OneGpuExchangesNothing) {
  const LibrarySeconds seconds = on({});
  EXPECT_NEAR(seconds.computing, flops_ / 1e12, 1e-4);
  EXPECT_EQ(seconds.exchanging, 0);
  EXPECT_NEAR(seconds.moving, 3 + 3 * matrix_ / 1e10 + matrix_ / 2e10, 1e-9);
}

TEST_F(DistributedLibrary, GpusOfANodeExchangeOverTheirLinks) {
  const LibrarySeconds seconds = on({.gpus_per_node = 8});  // 2 x 4
  EXPECT_NEAR(seconds.computing, flops_ / 8 / 1e12, 1e-4);
  EXPECT_NEAR(seconds.exchanging, 3 * matrix_ * (1.0 / 2 + 1.0 / 4) / 1e10, 1e-9);
  EXPECT_NEAR(seconds.moving, 3 + (3 * matrix_ / 1e10 + matrix_ / 2e10) / 8, 1e-9);
}

TEST_F(DistributedLibrary, GpusOfSeveralNodesShareTheNetwork) {
  const LibrarySeconds seconds = on({.nodes = 4, .gpus_per_node = 4, .bandwidth = 5e10, .latency = 1e-5});  // 4 x 4
  EXPECT_NEAR(seconds.computing, flops_ / 16 / 1e12, 1e-4);
  constexpr double messages = order / 512 * 2 * 4;
  EXPECT_NEAR(seconds.exchanging, 3 * matrix_ * (1.0 / 4 + 1.0 / 4) / (5e10 / 4) + messages * 1e-5, 1e-9);
  EXPECT_NEAR(seconds.moving, 3.0 / 4 + (3 * matrix_ / 1e10 + matrix_ / 2e10) / 16, 1e-9);
}

TEST_F(DistributedLibrary, ManyColumnsGoToAGpuAtATimeButItGetsSomeSeveralTimes) {
  EXPECT_EQ(columns_dealt(solve_, 2), 512);
  EXPECT_EQ(columns_dealt(solve_, 7), 360);
  EXPECT_EQ(columns_dealt(solve_, 16), 160);
  EXPECT_EQ(columns_dealt(solve_, 10000), 8);
}

TEST_F(DistributedLibrary, APrimeNumberOfGpusIsARow) {
  EXPECT_NEAR(on({.gpus_per_node = 7}).exchanging, 3 * matrix_ * (1 + 1.0 / 7) / 1e10, 1e-9);
}

}  // namespace
}  // namespace blastoff::decide
