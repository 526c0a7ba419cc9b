#include "launcher/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <initializer_list>

#include "launcher/child.h"

namespace blastoff::launcher {

namespace {

/// Seconds that a sender may take from one process in its list to the next.
constexpr double list_seconds = 0.02;
/// Most seconds until the launcher gets a signal on a busy machine. An older signal at the witness was another one.
constexpr double latest_seconds = 5;
/// Milliseconds to wait for an answer before the launcher looks whether the witness is stopped. On a busy machine, an
/// answer may take longer.
constexpr int answer_milliseconds = 100;
constexpr int answer = 0;

struct Entry {
  int number;   ///< of the signal, or `answer`
  double when;  ///< the witness got it (CLOCK_MONOTONIC)
};

/// The signal with which the launcher asks the witness. The kernel delivers lower numbers first, so the answer follows
/// all earlier signals.
int asking_signal() {
  return SIGRTMAX;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Runs in the witness. It ends with the launcher, and keeps no file open on which others wait.
[[noreturn]] void listen(pid_t launcher, int out) {
  end_with(launcher);
  prctl(PR_SET_NAME, "blastoff-signal");
  let_go_of_files({out});
  const sigset_t signals = forwarded_signals();
  for (;;) {
    siginfo_t heard{};
    const int number = sigwaitinfo(&signals, &heard);
    if (number < 0) continue;
    const bool asked = number == asking_signal() && heard.si_pid == launcher;
    const Entry entry{asked ? answer : number, now()};
    if (write(out, &entry, sizeof entry) != sizeof entry) _exit(0);
  }
}

}  // namespace

Witness::Witness() {
  const pid_t launcher = getpid();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  answers_ = platform::Descriptor(ends[0]);
  const platform::Descriptor out(ends[1]);
  pid_ = fork();
  if (pid_ == 0) listen(launcher, out.get());
}

Witness::~Witness() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<bool> Witness::heard(int number) {
  for (const double pause : {0.0, list_seconds}) {
    usleep(static_cast<useconds_t>(1e6 * pause));
    if (!ask()) return std::nullopt;
    double& when = heard_at_.at(static_cast<std::size_t>(number));
    const bool both = when != 0 && now() - when < latest_seconds;
    when = 0;
    if (!both) continue;
    // Takes the same signal if it came again, as the witness may have got both as one.
    sigset_t same;
    sigemptyset(&same);
    sigaddset(&same, number);
    const timespec at_once{};
    sigtimedwait(&same, nullptr, &at_once);
    return true;
  }
  return false;
}

bool Witness::ask() {
  if (pid_ <= 0 || kill(pid_, asking_signal()) != 0) return false;
  const double latest = now() + latest_seconds;
  while (now() < latest) {
    pollfd readable{answers_.get(), POLLIN, 0};
    if (poll(&readable, 1, answer_milliseconds) <= 0) {
      if (is_stopped()) return false;
      continue;
    }
    Entry entry{};
    if (read(answers_.get(), &entry, sizeof entry) != sizeof entry) return false;
    if (entry.number == answer) return true;
    note(entry.number, entry.when);
  }
  return false;
}

bool Witness::is_stopped() const {
  siginfo_t state{};
  return waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WNOHANG | WNOWAIT) == 0 && state.si_pid == pid_;
}

/// Notes a signal. A signal that stops processes cancels an earlier one that continues them, and conversely, as in the
/// kernel.
void Witness::note(int number, double when) {
  if (number == SIGCONT) heard_at_[SIGTSTP] = 0;
  if (number == SIGTSTP) heard_at_[SIGCONT] = 0;
  heard_at_.at(static_cast<std::size_t>(number)) = when;
}

}  // namespace blastoff::launcher
