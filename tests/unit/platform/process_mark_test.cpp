#include "platform/process_mark.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace blastoff::platform {
namespace {

using Bearer = ProcessMark::Bearer;

int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessMark, KnowsItsProcess) {
  const ProcessMark mark;
  EXPECT_EQ(mark.bearer(), Bearer::marked);
}

TEST(ProcessMark, KnowsChildrenThatNobodySawForked) {
  const ProcessMark mark;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) _exit(mark.bearer() == Bearer::child ? 0 : 1);
  EXPECT_EQ(status_of(child), 0);
}

TEST(ProcessMark, KnowsAChildOfTheSameNumber) {
  const ProcessMark mark;
  const pid_t child = fork();
  if (child == 0) {
    // The first process of a PID namespace has number 1 there, as its parent may have in its own namespace.
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    const pid_t first = fork();
    if (first == 0) {
      const ProcessMark own;
      if (unshare(CLONE_NEWPID) != 0) _exit(77);
      const pid_t same_number = fork();
      if (same_number == 0) _exit(getpid() == 1 && own.bearer() == Bearer::child ? 0 : 1);
      _exit(getpid() == 1 ? status_of(same_number) : 1);
    }
    _exit(status_of(first));
  }
  const int status = status_of(child);
  if (status == 77) GTEST_SKIP() << "PID namespaces are not allowed here";
  EXPECT_EQ(status, 0);
}

TEST(ProcessMark, KnowsAGuestInTheMemoryOfItsParent) {
  const ProcessMark mark;
  static Bearer seen;
  seen = Bearer::marked;
  alignas(16) static char stack[64 << 10];
  const pid_t child = clone(
      [](void* argument) {
        seen = static_cast<const ProcessMark*>(argument)->bearer();
        return 0;
      },
      stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, const_cast<ProcessMark*>(&mark));
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(seen, Bearer::guest);
  EXPECT_EQ(mark.bearer(), Bearer::marked);
}

}  // namespace
}  // namespace blastoff::platform
