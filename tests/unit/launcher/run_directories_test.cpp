#include "launcher/run_directories.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/membership.h"
#include "platform/folder.h"
#include "platform/living.h"
#include "temporary_folder.h"

namespace blastoff::launcher {
namespace {

namespace fs = std::filesystem;

class RunDirectories : public ::testing::Test {
 protected:
  RunDirectories() { places_ = {{made("memory")}, {made("disk")}}; }

  std::string made(const std::string& name) const {
    fs::create_directory(folder_ + "/" + name);
    return folder_ + "/" + name;
  }
  std::size_t number_in_memory() const { return platform::names_in(places_.memory[0]).size(); }
  std::size_t number_on_disk() const { return platform::names_in(places_.disk[0]).size(); }

  const test::TemporaryFolder temporary_{};
  const std::string folder_ = temporary_.path;
  Places places_;
};

void enter(const std::string& directory, int rank, const std::string& said) {
  fs::create_symlink(said, directory + "/launcher-" + std::to_string(rank));
}

/// An entry of a process that has ended: another one has its id now.
std::string ended(std::uint64_t pid_namespace = platform::pid_namespace()) {
  return std::to_string(getpid()) + " 1 " + std::to_string(pid_namespace);
}

void make_old(const std::string& directory) {
  const utimbuf times{1, 1};
  utime(directory.c_str(), &times);
}

TEST_F(RunDirectories, AreForThisUserAlone) {
  const std::string directory = places_.create("x");
  struct stat status {};
  ASSERT_EQ(stat(directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(places_.create("x"), directory) << "the second launcher of the run";
  fs::permissions(directory, fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(places_.create("x"), places_.disk[0] + "/" + fs::path(directory).filename().string());
}

TEST_F(RunDirectories, AreNotMadeWhereThereIsLittleRoom) {
  EXPECT_EQ((Places{{"/proc"}, {}}.create("x")), "");
}

TEST_F(RunDirectories, AreRemovedWithTheirDirectoriesOnADisk) {
  remove_run(places_.create("x"));
  EXPECT_EQ(number_in_memory(), 0U);
  EXPECT_EQ(number_on_disk(), 0U);
}

TEST_F(RunDirectories, StayWhileALauncherOrAProcessRuns) {
  const std::string launched = places_.create("launched");
  ASSERT_TRUE(write_launcher(launched + "/launcher-0"));
  const std::string counting = places_.create("counting");
  enter(counting, 0, ended());
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  std::ofstream(counting + "/" + std::to_string(getpid()) + "-" +
                std::to_string(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec) + "-0-" +
                std::to_string(platform::pid_namespace()) + ".counters");
  const std::string empty = places_.create("empty");
  const std::string left = places_.create("left");
  enter(left, 0, ended());
  places_.sweep();
  EXPECT_TRUE(fs::exists(launched) && fs::exists(counting) && fs::exists(empty));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(number_on_disk(), 3U);
  make_old(empty);
  places_.sweep();
  EXPECT_FALSE(fs::exists(empty)) << "nobody has come in a minute";
}

TEST_F(RunDirectories, StayIfTheirMembersCannotBeUnderstood) {
  for (const char* const name : {"1-2-3-4-5.counters", "v9-1-2-3.counters", "1-2.counters",
                                 "12345678901-2-3-4.counters", "\xff.counters", ".counters"}) {
    const std::string directory = places_.create("of another version");
    std::ofstream(directory + "/" + name);
    make_old(directory);
    places_.sweep();
    EXPECT_TRUE(fs::exists(directory)) << name;
    fs::remove(directory + "/" + name);
  }
  const std::string directory = places_.create("of another version");
  enter(directory, 0, "1 2 3 another version");
  make_old(directory);
  places_.sweep();
  EXPECT_TRUE(fs::exists(directory));
}

TEST_F(RunDirectories, OfAnEarlierJobOfThisNameAreNotUsed) {
  const std::string earlier = places_.create("job-x");
  enter(earlier, 0, ended());
  const std::string directory = places_.create("job-x");
  EXPECT_EQ(directory, earlier);
  EXPECT_FALSE(fs::is_symlink(directory + "/launcher-0"));
}

TEST_F(RunDirectories, LaunchersOfEarlierVersionsAreUnderstood) {
  const std::string directory = places_.create("x");
  enter(directory, 0, "12 3450000000.0 4026531836");
  const auto member = read_launcher(directory + "/launcher-0");
  ASSERT_TRUE(member);
  EXPECT_EQ(member->pid, 12U);
  EXPECT_EQ(member->made, 3450000000U);
  EXPECT_EQ(member->pid_namespace, 4026531836U);
}

/// Ranks of a job, whose places are set by the environment.
class Membership : public RunDirectories {
 protected:
  Membership() {
    setenv("XDG_RUNTIME_DIR", places_.memory[0].c_str(), 1);
    setenv("TMPDIR", places_.disk[0].c_str(), 1);
    setenv("PMIX_NAMESPACE", "a job@1", 1);
    setenv("PMIX_RANK", "0", 1);
  }
  ~Membership() override {
    for (const char* const name : {"XDG_RUNTIME_DIR", "TMPDIR", "PMIX_NAMESPACE", "PMIX_RANK"}) unsetenv(name);
  }
};

TEST_F(Membership, TheLastLauncherOfAJobReports) {
  auto first = join();
  setenv("PMIX_RANK", "1", 1);
  auto second = join();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->directory, second->directory);
  EXPECT_EQ(first->job, "a_job_1");
  EXPECT_FALSE(leave(*first));
  const std::string before = second->directory;
  EXPECT_TRUE(leave(*second));
  EXPECT_TRUE(fs::exists(second->directory) && !fs::exists(before)) << "nobody can join";
}

TEST_F(Membership, ASecondLauncherOfARankBelongsToAnotherRun) {
  const auto first = join();
  const auto second = join();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->directory, second->directory);
  EXPECT_EQ(second->job, "");
}

/// This version makes a run of its own. If the other launchers come later, the directory stays theirs.
TEST_F(Membership, AJobWhoseOtherLaunchersAreOfAnotherVersion) {
  auto first = join();
  ASSERT_TRUE(first);
  enter(first->directory, 1, "1 2 3 another version");
  setenv("PMIX_RANK", "2", 1);
  auto second = join();
  ASSERT_TRUE(second);
  EXPECT_NE(first->directory, second->directory);
  EXPECT_FALSE(leave(*first));
  EXPECT_TRUE(fs::exists(first->directory));
  EXPECT_TRUE(leave(*second));
}

}  // namespace
}  // namespace blastoff::launcher
