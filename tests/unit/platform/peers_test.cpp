// Processes that find each other by a directory: this one, and children that live until they are told to end.
#include "platform/peers.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <vector>

#include "platform/pci.h"
#include "platform/threads.h"
#include "temporary_folder.h"

namespace blastoff::platform {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::hours for_ever{1};  // no test takes that long

class PeersTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const pid_t child : children_) end(child);
  }

  /// Starts a process that runs `what`, sends its result as a byte, and stays alive.
  char in_another_process(const std::function<char()>& what) {
    int says[2];
    EXPECT_EQ(pipe(says), 0);
    children_.push_back(fork());
    if (children_.back() == 0) {
      const char said = what();
      if (write(says[1], &said, 1) == 1)
        for (;;) pause();
      _exit(1);
    }
    char said = 0;
    EXPECT_EQ(read(says[0], &said, 1), 1);
    close(says[0]);
    close(says[1]);
    return said;
  }

  static void end(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  const test::TemporaryFolder folder_{};
  const std::string directory_ = folder_.path;
  std::vector<pid_t> children_;
  const std::vector<std::string> gpus_ = {"0000:17:00.0", "0000:65:00.0", "0000:ca:00.0"};
};

TEST_F(PeersTest, EachTakesTheDeviceThatTheFewestUse) {
  std::map<char, int> uses;
  for (int i = 0; i < 6; ++i)
    ++uses[in_another_process([&] { return static_cast<char>('0' + Peers(directory_).choose(gpus_, 0)); })];
  EXPECT_EQ(uses, (std::map<char, int>{{'0', 2}, {'1', 2}, {'2', 2}}));
  for (const std::string& gpu : gpus_) EXPECT_EQ(Peers(directory_).users(gpu), 2);
  EXPECT_EQ(Peers(directory_).users("0000:17:00"), 0) << "the beginning of a name is another one";
}

TEST_F(PeersTest, TheFirstPrefersItsOwn) {
  EXPECT_EQ(Peers(directory_).choose(gpus_, 2), 2U);
  EXPECT_EQ(Peers(directory_).choose(gpus_, 2), 2U) << "a process does not compete with itself";
  EXPECT_EQ(in_another_process([&] { return static_cast<char>('0' + Peers(directory_).choose(gpus_, 2)); }), '0');
}

TEST_F(PeersTest, ADeviceThatTheUserNamesIsUsedToo) {
  in_another_process([&] {
    Peers(directory_).enter(gpus_[0]);
    return 'e';
  });
  EXPECT_EQ(Peers(directory_).users(gpus_[0]), 1);
  EXPECT_EQ(Peers(directory_).choose(gpus_, 0), 1U);
}

TEST_F(PeersTest, AnEndedProcessUsesNothing) {
  in_another_process([&] { return static_cast<char>('0' + Peers(directory_).choose(gpus_, 1)); });
  EXPECT_EQ(Peers(directory_).users(gpus_[1]), 1);
  end(children_.back());
  children_.clear();
  EXPECT_EQ(Peers(directory_).users(gpus_[1]), 0);
}

TEST_F(PeersTest, WithoutADirectoryThereAreNone) {
  const Peers alone("");
  EXPECT_EQ(alone.choose(gpus_, 1), 1U);
  EXPECT_EQ(alone.users(gpus_[1]), 0);
  const Peers::Turn turn(alone, for_ever);
  const Peers nowhere(directory_ + "/not/there");
  const Peers::Turn other(nowhere, for_ever);
  EXPECT_EQ(nowhere.choose(gpus_, 1), 1U);
}

TEST_F(PeersTest, OnlySoManyHaveATurn) {
  const auto take_turn = [&] {
    new Peers::Turn(Peers(directory_), for_ever);  // until the process ends
    return 't';
  };
  { const Peers::Turn first{Peers(directory_)}; }
  for (int i = 0; i < Peers::max_at_once; ++i) in_another_process(take_turn);
  const auto start = Clock::now();
  EXPECT_FALSE(Peers::Turn(Peers(directory_), milliseconds(60)).came());
  EXPECT_GE(Clock::now() - start, milliseconds(60));
  end(children_.back());
  children_.pop_back();
  const Peers::Turn turn(Peers(directory_), for_ever);
}

TEST_F(PeersTest, TheFirstHasItsTurnAlone) {
  const auto take_turn = [&] { return Peers::Turn(Peers(directory_), milliseconds(0)).came() ? 'y' : 'n'; };
  const auto keep_turn = [&] { return (new Peers::Turn(Peers(directory_), milliseconds(0)))->came() ? 'y' : 'n'; };
  EXPECT_EQ(in_another_process(keep_turn), 'y');
  EXPECT_EQ(in_another_process(take_turn), 'n');
  end(children_.front());
  children_.erase(children_.begin());
  EXPECT_EQ(in_another_process(keep_turn), 'y') << "it was killed: the next one is the first";
  EXPECT_EQ(in_another_process(take_turn), 'n');
}

TEST_F(PeersTest, WithoutADirectoryProcessesTakeTurnsToo) {
  const auto keep_turn = [] { return (new Peers::Turn(Peers(""), milliseconds(0)))->came() ? 'y' : 'n'; };
  ASSERT_EQ(in_another_process(keep_turn), 'y');
  EXPECT_EQ(in_another_process(keep_turn), 'n');
  EXPECT_FALSE(Peers::Turn(Peers(""), milliseconds(0)).came());
  end(children_.front());
  children_.erase(children_.begin());
  EXPECT_TRUE(Peers::Turn(Peers(""), milliseconds(0)).came());
}

TEST_F(PeersTest, CpusNearADevice) {
  const auto list = [&](const char* text) {
    std::filesystem::create_directories(directory_ + "/0000:17:00.0");
    std::ofstream(directory_ + "/0000:17:00.0/local_cpulist") << text << '\n';
    return own_cpus_near("0000:17:00.0", directory_);
  };
  EXPECT_EQ(own_cpus_near("0000:17:00.0", directory_), std::nullopt);
  EXPECT_EQ(list(""), std::nullopt);
  EXPECT_EQ(list("0-1023"), cpu_count());
  EXPECT_EQ(list("1000-1010,1020"), 0);
}

}  // namespace
}  // namespace blastoff::platform
