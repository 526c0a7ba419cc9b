#include "platform/threads.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "platform/background.h"
#include "platform/confinement.h"
#include "platform/last_thread.h"
#include "platform/process.h"
#include "platform/race_detector.h"
#include "platform/thread_ids.h"

namespace blastoff::platform {
namespace {

/// The CPU set of the process; empty (count 0) until it has been remembered.
cpu_set_t remembered_set;
int remembered_count = 0;

void adopt_remembered_set() {
  if (remembered_count > 0) pthread_setaffinity_np(pthread_self(), sizeof remembered_set, &remembered_set);
}

[[gnu::tls_model("initial-exec")]] constinit thread_local bool started_here = false;
constinit ThreadIds own_threads;

/// Signals that the kernel sends to the thread that causes them. They cannot wait.
constexpr std::array synchronous_signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/// Signals with which users and batch systems end or stop a process.
constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGTSTP};

sigset_t asynchronous_signals() {
  sigset_t set;
  sigfillset(&set);
  for (const int signal : synchronous_signals) sigdelset(&set, signal);
  return set;
}

/// Sets the signal mask of a new thread, whatever its creator has blocked.
void adopt_signals() {
  started_here = true;
  const sigset_t blocked = asynchronous_signals();
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

bool has_handler(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

void block_signals(sigset_t& before) {
  sigset_t waiting = asynchronous_signals();
  for (const int signal : ending_signals) {
    if (!has_handler(signal)) sigdelset(&waiting, signal);
  }
  pthread_sigmask(SIG_BLOCK, &waiting, &before);
}

struct Start {
  std::array<char, 16> name{};
  std::function<void()> body;
  bool by_own_thread = false;
};

void* run_detached(void* argument) {
  own_threads.add(gettid());
  begin_unobserved();
  {
    const std::unique_ptr<Start> start(static_cast<Start*>(argument));
    adopt_signals();
    adopt_remembered_set();
    if (start->by_own_thread) go_on_as_usual();
    pthread_setname_np(pthread_self(), start->name.data());
    contained(start->body);
  }
  end_unobserved();
  own_threads.remove(gettid());
  return nullptr;
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  const sigset_t blocked = asynchronous_signals();
  pthread_sigmask(SIG_BLOCK, &blocked, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

CancellationDisabled::CancellationDisabled() {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
}

CancellationDisabled::~CancellationDisabled() noexcept(false) {
  pthread_setcancelstate(before_, nullptr);
}

Disturbances hold_off() {
  Disturbances before{};
  before.with_signals = !confined();
  if (before.with_signals) block_signals(before.signals);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.cancel_state);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before.cancel_type);
  begin_unobserved();
  return before;
}

void let_in(const Disturbances& before) {
  end_unobserved();
  // Handlers come last: a handler that jumped away would leave cancellation disabled. The cancel state is set before
  // the type: if a thread is cancelled when its state changes, glibc 2.36 does not report that to a thread that joins
  // it.
  pthread_setcancelstate(before.cancel_state, nullptr);
  pthread_setcanceltype(before.cancel_type, nullptr);
  if (before.with_signals) pthread_sigmask(SIG_SETMASK, &before.signals, nullptr);
}

bool is_own_thread() {
  return started_here;
}

bool is_own_thread(pid_t thread) {
  return own_threads.contains(thread);
}

void become_thread_of_program(const sigset_t& signals) {
  started_here = false;
  own_threads.remove(gettid());
  end_unobserved();
  pthread_sigmask(SIG_SETMASK, &signals, nullptr);
}

void remember_cpu_set() {
  if (sched_getaffinity(0, sizeof remembered_set, &remembered_set) == 0) remembered_count = CPU_COUNT(&remembered_set);
}

int cpu_count() {
  if (remembered_count > 0) return remembered_count;
  cpu_set_t current;
  return sched_getaffinity(0, sizeof current, &current) == 0 ? CPU_COUNT(&current) : 1;
}

bool is_own_cpu(int cpu) {
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  if (remembered_count > 0) return CPU_ISSET(cpu, &remembered_set);
  cpu_set_t current;
  return sched_getaffinity(0, sizeof current, &current) == 0 && CPU_ISSET(cpu, &current);
}

int cpu_share() {
  const int cpus = cpu_count();
  const bool bound = cpus < sysconf(_SC_NPROCESSORS_ONLN);
  return bound ? cpus : std::max(1, cpus / local_size());
}

bool start_thread_for(const char* name, std::function<void()> body) {
  if (confined()) return false;
  std::unique_ptr<Start> start(new (std::nothrow) Start);
  if (!start) return false;
  std::strncpy(start->name.data(), name, start->name.size() - 1);
  start->body = std::move(body);
  start->by_own_thread = is_own_thread();
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  int error = 0;
  {
    const SignalsBlocked blocked;
    error = pthread_create(&thread, &attributes, run_detached, start.get());
  }
  pthread_attr_destroy(&attributes);
  if (error != 0) return false;
  static_cast<void>(start.release());
  note_own_thread();
  return true;
}

}  // namespace blastoff::platform
