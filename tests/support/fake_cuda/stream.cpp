#include "fake_cuda/stream.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace blastoff::fake_cuda {
namespace {

/// Long enough to expose a caller that does not wait.
constexpr std::chrono::microseconds delay{30};

}  // namespace

// The driver's own threads have such names.
Stream::Stream()
    : thread_([this] {
        pthread_setname_np(pthread_self(), "cuda00001400006");
        run();
      }) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Stream::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    std::this_thread::sleep_for(delay);
    task();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

std::uint64_t Event::record() {
  const std::lock_guard lock(mutex_);
  return ++recorded_;
}

std::uint64_t Event::last_record() {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void Event::reach(std::uint64_t record) {
  {
    const std::lock_guard lock(mutex_);
    reached_ = std::max(reached_, record);
  }
  changed_.notify_all();
}

void Event::wait_for(std::uint64_t record) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= record; });
}

}  // namespace blastoff::fake_cuda
