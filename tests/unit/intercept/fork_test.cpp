#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "intercept/fork_guard.h"
#include "intercept/loaded_objects.h"

namespace blastoff::intercept {
namespace {

TEST(Fork, AChildCanLookUpWhateverOtherThreadsWereLookingUp) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  std::atomic<bool> stop{false};
  std::thread looking([&] {
    while (!stop) {
      const InsideLinker inside;
      loaded_objects();
    }
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // ends a child that hangs
      const InsideLinker inside;
      _exit(loaded_objects().empty() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "child " << i;
  }
  stop = true;
  looking.join();
}

}  // namespace
}  // namespace blastoff::intercept
