#include "platform/thread_ends.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "platform/threads.h"

namespace blastoff::platform {
namespace {

std::atomic<bool> destroyed{false};

struct SlowToGo {
  bool used = false;
  ~SlowToGo() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    destroyed = true;
  }
};
thread_local SlowToGo own;

TEST(ThreadEnds, ComeAfterTheThreadLocalObjectsAreDestroyed) {
  std::atomic<bool> done{false};
  ASSERT_TRUE(start_thread("blastoff-test", [&done] {
    own.used = true;
    announce_end();
    done = true;
  }));
  while (!done) std::this_thread::yield();
  EXPECT_FALSE(destroyed);
  wait_for_announced_ends();
  EXPECT_TRUE(destroyed);
}

}  // namespace
}  // namespace blastoff::platform
