#include "platform/threads.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "platform/worker_pool.h"

namespace blastoff::platform {
namespace {

sigset_t blocked_now() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

constexpr int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

TEST(Threads, LeaveSynchronousSignalsToTheProgramsHandlers) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  std::promise<sigset_t> started;
  pthread_sigmask(SIG_SETMASK, &all, &before);  // as if the program blocked all signals
  ASSERT_TRUE(start_thread("blastoff-test", [&] { started.set_value(blocked_now()); }));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const sigset_t own = started.get_future().get();
  for (const int signal : synchronous) {
    EXPECT_FALSE(sigismember(&own, signal)) << signal;
  }
  EXPECT_TRUE(sigismember(&own, SIGUSR1));
}

TEST(Threads, AreUndisturbedByHandlersAndCancellation) {
  // In a child, since it changes the handling of SIGTERM.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTERM, [](int) {});
    signal(SIGINT, SIG_DFL);
    int cancel_state = -1;
    sigset_t blocked;
    undisturbed([&] {
      blocked = blocked_now();
      pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    });
    const sigset_t after = blocked_now();
    bool right = cancel_state == PTHREAD_CANCEL_DISABLE;
    for (const int signal : {SIGUSR1, SIGALRM, SIGTERM}) right &= sigismember(&blocked, signal) == 1;
    for (const int signal : synchronous) right &= sigismember(&blocked, signal) == 0;
    right &= sigismember(&blocked, SIGINT) == 0;  // not blocked, since it ends the process in any case
    right &= sigismember(&after, SIGUSR1) == 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
    _exit(right && cancel_state == PTHREAD_CANCEL_ENABLE ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
}

TEST(Threads, AreKnownByTheirIdsUntilTheyEnd) {
  std::promise<pid_t> id;
  std::promise<void> end;
  ASSERT_TRUE(start_thread("blastoff-test", [&] {
    id.set_value(gettid());
    end.get_future().wait();
  }));
  const pid_t own = id.get_future().get();
  EXPECT_TRUE(is_own_thread(own));
  EXPECT_FALSE(is_own_thread(gettid()));
  EXPECT_FALSE(is_own_thread(getpid()));
  end.set_value();
  while (is_own_thread(own)) std::this_thread::yield();
}

TEST(Threads, StartWithTheirNameAndAsynchronousSignalsBlocked) {
  std::promise<std::string> name;
  std::promise<int> unblocked;
  ASSERT_TRUE(start_thread("blastoff-test-long", [&] {
    char text[16] = {};
    pthread_getname_np(pthread_self(), text, sizeof text);
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    int count = 0;
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGPROF, SIGCHLD}) {
      if (!sigismember(&blocked, signal)) ++count;
    }
    unblocked.set_value(count);
    name.set_value(text);
  }));
  EXPECT_EQ(unblocked.get_future().get(), 0);
  EXPECT_EQ(name.get_future().get(), "blastoff-test-l");
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_FALSE(sigismember(&own, SIGUSR1));
}

TEST(Threads, RunOnTheRememberedCpuSet) {
  // In a child, since the remembered set is the process's.
  const pid_t child = fork();
  if (child == 0) {
    remember_cpu_set();
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    bool right = cpu_count() == CPU_COUNT(&all);

    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    sched_setaffinity(0, sizeof one, &one);
    std::promise<bool> spread;
    start_thread("test", [&] {
      cpu_set_t own;
      sched_getaffinity(0, sizeof own, &own);
      spread.set_value(CPU_EQUAL(&own, &all));
    });
    right = right && spread.get_future().get() && cpu_count() == CPU_COUNT(&all);
    _exit(right ? 0 : 1);
  }
  EXPECT_EQ(test::status_of(child), 0);
}

class WorkerPoolTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, WorkerPoolTest, ::testing::Values(-1, 0, 1, 3));

TEST_P(WorkerPoolTest, RunsEachIndexOnce) {
  const auto pool = create_worker_pool(GetParam());
  EXPECT_EQ(pool->workers(), std::max(0, GetParam()));
  for (const std::size_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> times(count);
    pool->run(count, [&](std::size_t index) { ++times[index]; });
    for (const auto& time : times) EXPECT_EQ(time, 1);
  }
}

TEST_P(WorkerPoolTest, ServesManyThreadsAtOnce) {
  const auto pool = create_worker_pool(GetParam());
  std::atomic<int> total{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        int sum = 0;
        std::mutex mutex;
        pool->run(10, [&](std::size_t) {
          const std::lock_guard lock(mutex);
          ++sum;
        });
        total += sum;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(total, 4 * 200 * 10);
}

TEST_P(WorkerPoolTest, LeavesNothingBehindWhereATaskThrows) {
  const auto pool = create_worker_pool(GetParam());
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  const auto task = [&](std::size_t index) {
    ++begun;
    if (index == 1) throw std::bad_alloc();
    ++ended;
  };
  EXPECT_THROW(pool->run(8, task), std::bad_alloc);
  EXPECT_EQ(begun, ended + 1);
  std::atomic<int> later{0};
  pool->run(8, [&](std::size_t) { ++later; });
  EXPECT_EQ(later, 8);
}

TEST(Threads, AreEndedByAnException) {
  std::promise<void> begun;
  ASSERT_TRUE(start_thread("test", [&] {
    begun.set_value();
    throw std::bad_alloc();
  }));
  begun.get_future().wait();
}

TEST(Threads, HoldNothingOffAfterAnException) {
  const sigset_t before = blocked_now();
  EXPECT_FALSE(undisturbed([] { throw std::bad_alloc(); }));
  const sigset_t after = blocked_now();
  EXPECT_EQ(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
  EXPECT_TRUE(undisturbed([] {}));
}

TEST(WorkerPool, UsesItsWorkers) {
  const auto pool = create_worker_pool(2);
  // Each task waits for the other two: they must run on three threads.
  std::atomic<int> arrived{0};
  pool->run(3, [&](std::size_t) {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 3);
}

}  // namespace
}  // namespace blastoff::platform
