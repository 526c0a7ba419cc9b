#include "platform/left_open.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "platform/descriptor.h"

namespace blastoff::platform {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    to_read = Descriptor(ends[0]);
    to_write = Descriptor(ends[1]);
  }
  Descriptor to_read, to_write;
};

/// Whether all writers close the pipe within `patience`.
bool ended(const Pipe& pipe, std::chrono::milliseconds patience) {
  pollfd state{.fd = pipe.to_read.get(), .events = POLLIN, .revents = 0};
  return poll(&state, 1, static_cast<int>(patience.count())) == 1 && (state.revents & POLLHUP) != 0;
}

/// Starts a child, which alone has the writing ends: it leaves one pipe open, closes both, and continues until it is
/// told to end. Its status is 7 if that succeeded.
pid_t start_child(Pipe& left_open, Pipe& closed, Pipe& goes_on) {
  const pid_t child = fork();
  if (child != 0) {
    left_open.to_write = {};
    closed.to_write = {};
    return child;
  }
  goes_on.to_write = {};
  // Stays open when a program is executed, like standard output.
  const Descriptor inherited(dup(closed.to_write.get()));
  closed.to_write = {};
  const bool done = leave_open(BLASTOFF_CLOSER, {left_open.to_write.get()});
  left_open.to_write = {};
  close(inherited.get());
  char byte = 0;
  (void)!read(goes_on.to_read.get(), &byte, 1);
  _exit(done ? 7 : 1);
}

/// Whether the closer can run: without close_range (Linux 5.9) it ends at once.
bool can_run_closer() {
  return access(BLASTOFF_CLOSER, X_OK) == 0 && syscall(SYS_close_range, ~0U, ~0U, 0) == 0;
}

TEST(LeftOpen, FilesStayOpenUntilTheEndOfTheProcess) {
  if (!can_run_closer()) GTEST_SKIP() << "no blastoff-closer on this machine, or a kernel older than it needs";
  Pipe left_open, closed, goes_on;
  const pid_t child = start_child(left_open, closed, goes_on);
  EXPECT_TRUE(ended(closed, 20s)) << "the closer closes at once what it is not to keep";
  EXPECT_FALSE(ended(left_open, 100ms));
  goes_on.to_write = {};
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(ended(left_open, 20s));
}

TEST(LeftOpen, NothingIsStartedInVain) {
  EXPECT_FALSE(leave_open(BLASTOFF_CLOSER, {}));
  EXPECT_FALSE(leave_open(BLASTOFF_CLOSER, {STDERR_FILENO}));
  const Pipe pipe;
  EXPECT_FALSE(leave_open("/nowhere/blastoff-closer", {pipe.to_write.get()}));
}

TEST(LeftOpen, FindsDescriptorsByTheNameOfTheirFile) {
  const std::string path = testing::TempDir() + "blastoff-left-open-test";
  std::ofstream(path).put('x');
  const Descriptor first(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor second(fcntl(first.get(), F_DUPFD_CLOEXEC, 100));
  EXPECT_EQ(descriptors_of(path), (std::vector{first.get(), second.get()}));
  EXPECT_TRUE(descriptors_of(path + "?").empty());
  unlink(path.c_str());
}

}  // namespace
}  // namespace blastoff::platform
