#include "platform/fork_guard.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "child.h"
#include "tracking/dma_writer.h"
#include "tracking/process_status.h"

namespace blastoff::platform {
namespace {

/// The time in microseconds for which a thread that lists the loaded objects holds the dynamic linker's lock.
std::atomic<useconds_t> pause_under_lock{0};

}  // namespace
}  // namespace blastoff::platform

// Replaces the C library's function in this program.
extern "C" int dl_iterate_phdr(int (*callback)(dl_phdr_info*, std::size_t, void*), void* data) {
  struct Slowly {
    int (*callback)(dl_phdr_info*, std::size_t, void*);
    void* data;
    bool paused = false;
  } slowly{callback, data};
  const auto visit = [](dl_phdr_info* info, std::size_t size, void* argument) {
    auto& self = *static_cast<Slowly*>(argument);
    if (!self.paused) usleep(blastoff::platform::pause_under_lock);
    self.paused = true;
    return self.callback(info, size, self.data);
  };
  using Iterate = int (*)(int (*)(dl_phdr_info*, std::size_t, void*), void*);
  static const auto real = reinterpret_cast<Iterate>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  return real(visit, &slowly);
}

namespace blastoff::platform {
namespace {

int count_object(dl_phdr_info*, std::size_t, void* count) {
  ++*static_cast<int*>(count);
  return 0;
}

int loaded_objects() {
  int count = 0;
  dl_iterate_phdr(count_object, &count);
  return count;
}

/// Forks repeatedly while another thread runs `busy`, and expects that every child can list the loaded objects.
template <class Busy>
void expect_children_that_end(int children, Busy busy) {
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  ASSERT_EQ(registered, 0);
  std::atomic<bool> stop{false};
  std::atomic<bool> going{false};
  std::thread other([&] {
    for (; !stop; going = true) busy();
  });
  while (!going) usleep(100);
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      pause_under_lock = 0;
      alarm(5);  // ends a child that hangs
      const ForkGuard guard;
      _exit(loaded_objects() > 0 ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << i;
    if (status != 0) break;
  }
  stop = true;
  other.join();
}

TEST(ForkGuard, AChildCanAskTheLinkerWhateverOtherThreadsWereAsking) {
  expect_children_that_end(200, [] {
    const ForkGuard guard;
    loaded_objects();
  });
}

TEST(ForkGuard, TheSearchForForeignWritersKeepsForksWaiting) {
  pause_under_lock = 2000;  // at nearly every moment some thread holds the lock
  expect_children_that_end(5, [] { tracking::dma_writer(tracking::pinned_kilobytes() > 0); });
  pause_under_lock = 0;
}

TEST(ForkGuard, MayBeNestedAndForkedUnder) {
  const ForkGuard outer;
  const ForkGuard inner;
  const pid_t child = fork();
  if (child == 0) _exit(loaded_objects() > 0 ? 0 : 1);
  EXPECT_EQ(test::status_of(child), 0);
}

}  // namespace
}  // namespace blastoff::platform
