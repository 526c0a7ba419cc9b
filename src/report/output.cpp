#include "report/output.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace blastoff::report {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{2};

/// Waits until the descriptor takes more. Returns false with errno ETIMEDOUT if the deadline comes first.
bool wait_for_room(int descriptor, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd waiting{descriptor, POLLOUT, 0};
  const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0 || (ready < 0 && errno == EINTR);
}

/// A ready pipe accepts this many bytes at once, even if its descriptor blocks.
constexpr std::size_t portion = 4096;

/// Tells a socket not to block.
ssize_t write_some(int descriptor, std::string_view text) {
  const ssize_t sent = send(descriptor, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? write(descriptor, text.data(), text.size()) : sent;
}

void discard(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  const timespec now{};
  sigtimedwait(&one, nullptr, &now);
}

}  // namespace

Output::Output(int descriptor) : descriptor_(descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return;
  descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(descriptor);
}

bool Output::write(std::string_view text) {
  const auto deadline = Clock::now() + patience;
  while (!text.empty()) {
    if (!wait_for_room(descriptor_, deadline)) return false;
    const ssize_t written = write_some(descriptor_, text.substr(0, portion));
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written == 0 || (written < 0 && errno != EINTR && errno != EAGAIN)) return false;
  }
  return true;
}

bool Output::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor < 0 || ::close(descriptor) == 0;
}

NoWriteSignals::NoWriteSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  sigaddset(&signals, SIGPIPE);
  sigpending(&pending_);
  pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

NoWriteSignals::~NoWriteSignals() {
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    if (sigismember(&pending_, signal) == 0) discard(signal);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace blastoff::report
