// Blastoff's threads inside the program's process, and signals, cancellation and stacks of the program's threads.
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

/// Whether that CPU is one of them.
bool is_own_cpu(int cpu);

/// Their number divided among the MPI processes of this node, if they are not bound to CPUs of their own; at least 1.
int cpu_share();

/// While one of these lives, no handler of an asynchronous signal runs on this thread. Threads started meanwhile
/// inherit the mask: Blastoff's own, and those of libraries that it calls. Synchronous signals (SIGSEGV, SIGBUS,
/// SIGFPE, ...) are not blocked: the kernel ends a process that blocks them, and the program may have a handler that
/// repairs the fault.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// While one of these lives, this thread is not cancelled. A request that arrives meanwhile may act in the destructor
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

/// What hold_off() returns and let_in() restores.
struct Disturbances {
  sigset_t signals;
  int cancel_state;
  int cancel_type;
};

/// Between the two calls, no code of the program runs on this thread. Used while the thread holds locks that a handler
/// might need, or that would stay locked if the handler never returned. Signals whose default action ends or stops the
/// process stay unblocked if the program has no handler for them, so a long call can be interrupted. Together about a
/// microsecond.
Disturbances hold_off();

/// Handlers and cancellation that waited act here and may never return, so no lock may be held. (A destructor must not
/// call this. Cancellation unwinds the stack with the program's libgcc_s. A frame of Blastoff with a destructor would
/// need Blastoff's own copy, which does not know the registers.)
void let_in(const Disturbances& before);

/// Runs `body` with signals and cancellation held off.
template <class Body>
[[gnu::always_inline]] inline void undisturbed(const Body& body) {
  const Disturbances before = hold_off();
  body();
  let_in(before);
}

/// Whether the calling thread is one of Blastoff's.
bool is_own_thread();

/// Starts a detached thread with the name `name` (at most 15 characters). It blocks all asynchronous signals and runs
/// on the remembered CPU set. It must not touch anything that process exit destroys. False if the system refuses a
/// thread.
bool start_thread(const char* name, std::function<void()> body);

/// Bytes of stack left below the caller.
std::size_t stack_left();

/// Whether a place lies on this thread's own stack, and not on one of a coroutine or for signals.
bool on_stack_of_thread(const void* place);

/// Runs `body` on a thread with a large stack and waits for it (about 20 us). False if the system refuses a thread;
/// body has not run then.
bool run_on_ample_stack(const std::function<void()>& body);

/// cuBLAS and the driver need more stack than BLAS callers, and threads under a limit of the stack, may have left.
inline constexpr std::size_t ample_stack = std::size_t{256} << 10;

/// Runs `body`: here if there is stack enough, else on a thread that has it, else here all the same.
inline void run_with_ample_stack(const std::function<void()>& body) {
  if (stack_left() >= ample_stack || !run_on_ample_stack(body)) body();
}

}  // namespace blastoff::platform
