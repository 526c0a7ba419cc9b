#include "platform/ample_stack.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <thread>
#include <vector>

#include "child.h"

namespace blastoff::platform {
namespace {

void* measure_stack(void* out) {
  *static_cast<std::size_t*>(out) = stack_left();
  return nullptr;
}

TEST(AmpleStack, KnowsWhatIsLeft) {
  const std::size_t outer = stack_left();
  EXPECT_GT(outer, std::size_t{64} << 10);
  EXPECT_LE(outer, std::size_t{1} << 30);
  volatile char deep[32 << 10];
  deep[0] = 0;
  const auto inner = [](volatile char*) { return stack_left(); };
  EXPECT_LE(inner(deep), outer);

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  constexpr std::size_t size = std::size_t{4} << 20;  // thread-local memory takes a part of it
  pthread_attr_setstacksize(&attributes, size);
  pthread_t thread;
  std::size_t left = 0;
  ASSERT_EQ(pthread_create(&thread, &attributes, measure_stack, &left), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_GT(left, size / 2);
  EXPECT_LE(left, std::size_t{64} << 20);  // glibc may reuse a larger stack of a thread that has ended
}

/// Runs `body` on a thread with 32 KiB, or the least that a thread may have (128 KiB on aarch64).
void on_small_thread(const Body& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const auto least = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN));
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::max(std::size_t{32} << 10, least)), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const Body*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<Body*>(&body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// Uses `bytes` bytes of stack.
[[gnu::noinline]] void use(std::size_t bytes) {
  volatile char frame[1024];
  for (std::size_t i = 0; i < sizeof frame; i += 64) frame[i] = 0;
  if (bytes > sizeof frame) use(bytes - sizeof frame);
  frame[0] = 0;
}

TEST(AmpleStack, IsGivenToThoseThatHaveNone) {
  on_small_thread([] {
    const auto caller = std::this_thread::get_id();
    std::size_t left = 0;
    EXPECT_TRUE(run_with_ample_stack([&] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      left = stack_left();
      use(std::size_t{1} << 20);
      EXPECT_TRUE(run_with_ample_stack([] { use(std::size_t{1} << 20); }));
    }));
    EXPECT_GT(left, std::size_t{7} << 20);
    EXPECT_LT(stack_left(), ample_stack);  // ThreadSanitizer gives a thread more stack than it requests
  });
}

TEST(AmpleStack, EndsExceptions) {
  on_small_thread([] {
    EXPECT_FALSE(run_with_ample_stack([] { throw std::bad_alloc(); }));
    EXPECT_TRUE(run_with_ample_stack([] {}));
  });
  EXPECT_FALSE(run_with_ample_stack([] { throw std::bad_alloc(); }));
}

TEST(AmpleStack, ServesManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 24; ++i)
    threads.emplace_back([] {
      on_small_thread([] {
        for (int round = 0; round < 50; ++round) EXPECT_TRUE(run_with_ample_stack([] { use(300 << 10); }));
      });
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(AmpleStack, ServesAnyNumberOfCalls) {
  constexpr int many = 70'000;  // ThreadSanitizer has room for 65 536 functions that have not returned
  int served = 0;
  on_small_thread([&] {
    for (int round = 0; round < many; ++round) run_with_ample_stack([&] { ++served; });
  });
  EXPECT_EQ(served, many);
}

TEST(AmpleStack, ServesForkedChildren) {
  on_small_thread([] {
    const pid_t child = fork();
    if (child == 0) _exit(run_with_ample_stack([] { use(300 << 10); }) ? 0 : 1);
    EXPECT_EQ(test::status_of(child), 0);
  });
}

}  // namespace
}  // namespace blastoff::platform
