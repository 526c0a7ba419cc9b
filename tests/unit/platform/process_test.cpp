#include "platform/process.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "platform/threads.h"

namespace blastoff::platform {
namespace {

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID",
          "PMIX_LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
          "PALS_RANKID", "SLURM_PROCID", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
      unsetenv(variable);
    }
  }
};

TEST_F(ProcessTest, NoRankOutsideAJob) {
  EXPECT_EQ(local_rank(), -1);
  EXPECT_EQ(global_rank(), -1);
}

TEST_F(ProcessTest, FindsRanksOfAnyLauncher) {
  setenv("SLURM_LOCALID", "3", 1);
  setenv("SLURM_PROCID", "11", 1);
  EXPECT_EQ(local_rank(), 3);
  EXPECT_EQ(global_rank(), 11);
  // srun starts the daemons of mpirun: the launcher nearest to the process knows.
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  EXPECT_EQ(local_rank(), 1);
  EXPECT_EQ(global_rank(), 5);
}

TEST_F(ProcessTest, PassesOverWhatIsNoRank) {
  setenv("OMPI_COMM_WORLD_RANK", "", 1);
  setenv("PMIX_RANK", "two", 1);
  setenv("PMI_RANK", "-1", 1);
  EXPECT_EQ(global_rank(), -1);
  setenv("SLURM_PROCID", "0", 1);
  EXPECT_EQ(global_rank(), 0);
}

TEST_F(ProcessTest, SharesTheCpusWithTheRanksOfItsNode) {
  EXPECT_EQ(local_size(), 1);
  EXPECT_EQ(cpu_share(), cpu_count());
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
  EXPECT_EQ(local_size(), 2);
  const bool bound = cpu_count() < sysconf(_SC_NPROCESSORS_ONLN);
  EXPECT_EQ(cpu_share(), bound ? cpu_count() : std::max(1, cpu_count() / 2));
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000000", 1);
  EXPECT_GE(cpu_share(), 1);
}

TEST_F(ProcessTest, KnowsItsNames) {
  EXPECT_EQ(program_name(), "unit_platform");
  EXPECT_NE(command_line().find("unit_platform"), std::string::npos);
  EXPECT_EQ(command_line().find('\0'), std::string::npos);
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(kernel_release(), names.release);
  EXPECT_EQ(host_name(), names.nodename);
}

}  // namespace
}  // namespace blastoff::platform
