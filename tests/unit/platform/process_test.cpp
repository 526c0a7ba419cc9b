#include "platform/process.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "platform/mpi_ranks.h"
#include "platform/threads.h"

namespace blastoff::platform {
namespace {

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* variable : local_rank_variables) unsetenv(variable);
    for (const char* variable : local_size_variables) unsetenv(variable);
    for (const char* variable : global_rank_variables) unsetenv(variable);
    for (const char* variable : global_size_variables) unsetenv(variable);
    for (const char* variable :
         {slurm_step_variable, "SLURM_NODEID", "SLURM_STEP_TASKS_PER_NODE", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES"})
      unsetenv(variable);
  }
};

/// The variables that a launcher sets for one of its ranks.
struct Starter {
  const char* name;
  std::vector<std::pair<const char*, const char*>> variables;
};

// Rank 5 of 8, on the second of two nodes, where it is rank 1 of 4.
const Starter starters[] = {
    {"OpenMpi",
     {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}},
    {"Mvapich2",
     {{"MV2_COMM_WORLD_RANK", "5"}, {"MV2_COMM_WORLD_LOCAL_RANK", "1"}, {"MV2_COMM_WORLD_LOCAL_SIZE", "4"}}},
    {"MpichAndIntelMpi", {{"PMI_RANK", "5"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "4"}}},
    {"CrayPals", {{"PALS_RANKID", "5"}, {"PALS_LOCAL_RANKID", "1"}, {"PALS_LOCAL_SIZE", "4"}}},
    {"Jsrun", {{"JSM_NAMESPACE_RANK", "5"}, {"JSM_NAMESPACE_LOCAL_RANK", "1"}, {"JSM_NAMESPACE_LOCAL_SIZE", "4"}}},
    {"Flux", {{"FLUX_TASK_RANK", "5"}, {"FLUX_TASK_LOCAL_ID", "1"}, {"FLUX_JOB_SIZE", "8"}, {"FLUX_JOB_NNODES", "2"}}},
    {"Slurm",
     {{"SLURM_PROCID", "5"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_NODEID", "1"},
      {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}}},
    {"SlurmWithPmix",
     {{"PMIX_RANK", "5"},
      {"SLURM_PROCID", "5"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_STEP_ID", "0"},
      {"SLURM_NODEID", "1"},
      {"SLURM_STEP_TASKS_PER_NODE", "4,4"}}},
};

class StarterTest : public ProcessTest, public ::testing::WithParamInterface<Starter> {};

TEST_P(StarterTest, TellsTheRank) {
  for (const auto& [variable, value] : GetParam().variables) setenv(variable, value, 1);
  EXPECT_EQ(global_rank(), 5);
  EXPECT_EQ(local_rank(), 1);
  EXPECT_EQ(local_size(), 4);
  for (const auto& [variable, value] : GetParam().variables) unsetenv(variable);
}

INSTANTIATE_TEST_SUITE_P(Every, StarterTest, ::testing::ValuesIn(starters),
                         [](const auto& starter) { return std::string(starter.param.name); });

TEST_F(ProcessTest, SlurmListsTheTasksOfItsNodes) {
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_STEP_TASKS_PER_NODE", "16(x3),4,2(x2)", 1);
  const char* const nodes[] = {"0", "2", "3", "4", "5"};
  const int sizes[] = {16, 16, 4, 2, 2};
  for (std::size_t i = 0; i < std::size(nodes); ++i) {
    setenv("SLURM_NODEID", nodes[i], 1);
    EXPECT_EQ(local_size(), sizes[i]) << nodes[i];
  }
  setenv("SLURM_NODEID", "6", 1);
  EXPECT_EQ(local_size(), 1);
  setenv("SLURM_NODEID", "0", 1);
  for (const char* list : {"", "many", "4(x", "4(x)", "4(x0)", "(x2)", ","}) {
    setenv("SLURM_STEP_TASKS_PER_NODE", list, 1);
    EXPECT_EQ(local_size(), 1) << list;
  }
}

// Slurm sets these variables also for the script of a batch job, and for all programs that it starts without srun.
TEST_F(ProcessTest, ABatchScriptIsNoRank) {
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_LOCALID", "0", 1);
  setenv("SLURM_NODEID", "0", 1);
  setenv("SLURM_STEP_TASKS_PER_NODE", "16", 1);
  EXPECT_EQ(global_rank(), -1);
  EXPECT_EQ(local_rank(), -1);
  EXPECT_EQ(local_size(), 1);
}

TEST_F(ProcessTest, NoRankOutsideAJob) {
  EXPECT_EQ(local_rank(), -1);
  EXPECT_EQ(global_rank(), -1);
}

TEST_F(ProcessTest, TheNearestStarterCounts) {
  setenv("SLURM_STEP_ID", "0", 1);
  setenv("SLURM_LOCALID", "3", 1);
  setenv("SLURM_PROCID", "11", 1);
  EXPECT_EQ(local_rank(), 3);
  EXPECT_EQ(global_rank(), 11);
  // srun starts the daemons of mpirun, so the variables of the launcher nearest to the process count.
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
  setenv("PALS_RANKID", "0", 1);
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
  EXPECT_EQ(command_line({"python3", "my script.py", "--name=a", "it's", ""}),
            "python3 'my script.py' --name=a 'it'\"'\"'s' ''");
  EXPECT_EQ(command_line({"a title with blanks"}), "a title with blanks");
  EXPECT_EQ(command_line({}), "");
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(kernel_release(), names.release);
  EXPECT_EQ(host_name(), names.nodename);
}

}  // namespace
}  // namespace blastoff::platform
