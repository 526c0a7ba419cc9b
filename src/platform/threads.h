// Blastoff's threads in the program's process, and signals and cancellation on the program's threads.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <utility>

#include "platform/ample_stack.h"
#include "platform/contained.h"

namespace blastoff::platform {

/// Remembers the CPU set of the process as it is now; called once when the library is loaded, before any runtime binds
/// threads to cores.
void remember_cpu_set();

/// Number of CPUs in the remembered set.
int cpu_count();

/// Whether the CPU is in the remembered set.
bool is_own_cpu(int cpu);

/// cpu_count() divided among the MPI processes of this node, if they are not bound to CPUs of their own; at least 1.
int cpu_share();

/// While an object lives, no handler of an asynchronous signal runs on this thread. Threads started meanwhile inherit
/// the mask: Blastoff's own, and those of libraries that it calls. Synchronous signals (SIGSEGV, SIGBUS, SIGFPE, ...)
/// are not blocked: the kernel ends a process that blocks them, and the program may have a handler that repairs the
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

/// While an object lives, this thread is not cancelled. A request that arrives meanwhile may act in the destructor
/// (PTHREAD_CANCEL_ASYNCHRONOUS), so no frame above it may be noexcept.
class CancellationDisabled {
 public:
  CancellationDisabled();
  ~CancellationDisabled() noexcept(false);
  CancellationDisabled(const CancellationDisabled&) = delete;
  CancellationDisabled& operator=(const CancellationDisabled&) = delete;

 private:
  int before_ = 0;
};

/// The state that hold_off() returns and let_in() restores.
struct Disturbances {
  sigset_t signals;
  int cancel_state;
  int cancel_type;
  bool with_signals;  ///< false in a confined process (platform/confinement.h): signals stay as they are
};

/// Between hold_off() and let_in(), no code of the program runs on this thread. Used while the thread holds locks that
/// a handler might need, or that would stay locked if the handler never returned. Signals whose default action ends or
/// stops the process stay unblocked if the program has no handler for them, so a long call can be interrupted. Both
/// together take about a microsecond.
Disturbances hold_off();

/// Handlers and cancellation that had to wait act here and may never return, so no lock may be held. (A destructor must
/// not call this. Cancellation unwinds the stack with the program's libgcc_s. A frame of Blastoff with a destructor
/// would need Blastoff's own copy, which does not know the registers.)
void let_in(const Disturbances& before);

/// Runs `body` with signals and cancellation held off, on a stack with room (platform/ample_stack.h). Returns false if
/// the body did not come to its end, for lack of memory (platform/contained.h). All of Blastoff's work on a thread of
/// the program is done inside this function, except work that takes little stack and no memory.
template <class Callable>
[[gnu::always_inline]] inline bool undisturbed(const Callable& body) {
  const Disturbances before = hold_off();
  const bool ended = run_with_ample_stack(body);
  let_in(before);
  return ended;
}

/// Whether the calling thread is one of Blastoff's.
bool is_own_thread();
/// Whether the thread with this id is one of Blastoff's, and has not come to its end.
bool is_own_thread(pid_t thread);

/// From here on the calling thread, one of Blastoff's, is as one of the program's, with this signal mask.
void become_thread_of_program(const sigset_t& signals);

/// The part of start_thread() that depends on no template.
bool start_thread_for(const char* name, std::function<void()> body);

/// Starts a detached thread with the name `name` (at most 15 characters). It blocks all asynchronous signals and runs
/// on the remembered CPU set. It must not touch anything that process exit destroys. An exception ends the thread, and
/// nothing else. Returns false if the system refuses a thread, or if there is no memory for it.
template <class Callable>
bool start_thread(const char* name, Callable&& body) {
  bool started = false;
  contained([&] { started = start_thread_for(name, std::function<void()>(std::forward<Callable>(body))); });
  return started;
}

}  // namespace blastoff::platform
