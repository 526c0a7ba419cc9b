// Threads of our own inside someone else's process.
#pragma once

#include <signal.h>

#include <cstddef>
#include <functional>
#include <string>

namespace blastoff::platform {

/// Remembers the CPU set of the process as it is now; called once when the library is loaded, before any runtime binds
/// threads to cores.
void remember_cpu_set();

/// CPUs in that set.
int cpu_count();

/// No handler of an asynchronous signal runs on this thread while one of these lives. Threads started meanwhile inherit
/// that: those of ours, and those of libraries that we call. Synchronous signals (SIGSEGV, SIGBUS, SIGFPE, ...) are
/// left as they are: the kernel ends a process that blocks them, and the program may have a handler that mends the
/// fault.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// No cancellation acts on this thread while one of these lives. One that has been asked for meanwhile may act in the
/// destructor (PTHREAD_CANCEL_ASYNCHRONOUS): no frame above it may be noexcept.
class CancellationDisabled {
 public:
  CancellationDisabled();
  ~CancellationDisabled() noexcept(false);
  CancellationDisabled(const CancellationDisabled&) = delete;
  CancellationDisabled& operator=(const CancellationDisabled&) = delete;

 private:
  int before_ = 0;
};

/// What hold_off() found and let_in() restores.
struct Disturbances {
  sigset_t signals;
  int cancel_state;
  int cancel_type;
};

/// Between the two nothing of the program's runs on this thread: for the time in which the thread holds what a handler
/// might need too, or would leave behind if it never came back. Signals whose default action ends or stops the process
/// are left alone where the program has no handler for them: a call that takes long can be interrupted. Together about
/// a microsecond.
Disturbances hold_off();

/// Handlers and cancellation that waited act here, and may never return: nothing may be held any more. (No destructor
/// does this. Cancellation unwinds the stack with the program's libgcc_s, and a frame of ours that has something to
/// clean up would be asked by our own copy, which does not know its registers.)
void let_in(const Disturbances& before);

/// Runs `body` with everything held off.
template <class Body>
[[gnu::always_inline]] inline void undisturbed(const Body& body) {
  const Disturbances before = hold_off();
  body();
  let_in(before);
}

/// Whether the calling thread was started here.
bool is_own_thread();

/// Starts a thread that blocks all asynchronous signals, runs on the remembered CPU set and carries `name` (at most 15
/// characters). It is detached: it must not touch anything that process exit destroys. False if the system refuses a
/// thread.
bool start_thread(const char* name, std::function<void()> body);

/// Bytes of stack left below the caller.
std::size_t stack_left();

/// Runs `body` on a thread with an ample stack and waits for it (about 20 us); false if the system refuses a thread and
/// body has not run. For callers with tiny stacks.
bool run_on_ample_stack(const std::function<void()>& body);

}  // namespace blastoff::platform
