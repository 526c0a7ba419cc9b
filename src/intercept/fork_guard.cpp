#include "intercept/fork_guard.h"

#include <time.h>

#include <atomic>

namespace blastoff::intercept {
namespace {

constinit std::atomic<int> inside{0};
constinit std::atomic<int> forking{0};

/// Waits until `count` is 0, a tenth of a second at most.
void wait_for_none(const std::atomic<int>& count) {
  constexpr timespec pause{0, 50'000};
  constexpr int most_pauses = 2000;
  for (int i = 0; i < most_pauses && count.load() > 0; ++i) nanosleep(&pause, nullptr);
}

}  // namespace

InsideLinker::InsideLinker() {
  inside.fetch_add(1);
  if (forking.load() == 0) return;
  inside.fetch_sub(1);
  wait_for_none(forking);
  inside.fetch_add(1);
}

InsideLinker::~InsideLinker() {
  inside.fetch_sub(1);
}

void before_fork() {
  forking.fetch_add(1);
  wait_for_none(inside);
}

void after_fork_in_parent() {
  forking.fetch_sub(1);
}

void after_fork_in_child() {
  inside = 0;
  forking = 0;
}

}  // namespace blastoff::intercept
