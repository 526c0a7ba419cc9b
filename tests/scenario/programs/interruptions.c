// Interruptions of a thread during a BLAS call: signals whose handlers call BLAS again, jump out or end the process,
// cancellation, and faults that a handler resolves. Usage: interruptions CASE
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

enum { N = 120, COUNT = N * N };
static double *a, *b, *c;
static volatile sig_atomic_t handled = 0;

static int computes(void) {
  a[handled % COUNT] += 1.0;
  return multiplies(N, N, N, a, N, b, N, 0.0, c, N);
}

static void on(int signal, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(signal, &action, NULL);
}

/// Causes SIGALRM after this number of microseconds; 0: stops the timer.
static void ring(long microseconds) {
  const struct itimerval once = {{0, 0}, {0, microseconds}};
  setitimer(ITIMER_REAL, &once, NULL);
}

/// The handler's own operands, so that only BLAS calls are interrupted.
static double *own_a, *own_b, *own_c;
static void multiply_again(int signal) {
  (void)signal;
  ++handled;
  own_a[handled % COUNT] = handled;
  multiply(N, N, N, own_a, N, own_b, N, 0.0, own_c, N);
}

static void handler_calls(void) {
  own_a = filled(COUNT, 11);
  own_b = filled(COUNT, 12);
  own_c = filled(COUNT, 13);
  on(SIGALRM, multiply_again);
  multiply_again(0);
  int right = computes();
  for (int round = 0; round < 150; ++round) {
    const int before = handled;
    ring(200 + 37 * round);
    while (handled == before) multiply(N, N, N, a, N, b, N, 0.0, c, N);
    right &= holds_product(N, N, N, a, N, b, N, 0.0, NULL, c, N);
    right &= holds_product(N, N, N, own_a, N, own_b, N, 0.0, NULL, own_c, N);
  }
  verdict("calls in a handler that interrupts calls", right);
}

static sigjmp_buf outside;
static void jump(int signal) {
  siglongjmp(outside, signal);
}

static void jump_out(void) {
  on(SIGALRM, jump);
  volatile int right = computes();
  for (volatile int round = 0; round < 60; ++round) {
    if (!sigsetjmp(outside, 1)) {
      ring(200 + 37 * round);
      for (;;) multiply(N, N, N, a, N, b, N, 0.0, c, N);
    }
    right &= computes();
  }
  verdict("calls after jumps out of calls", right);
}

static time_t ended = 0;

static time_t seconds_since_boot(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

static void exit_now(int signal) {
  (void)signal;
  ended = seconds_since_boot();
  exit(3);
}

/// The exit handler that runs last. Blastoff waits up to ten seconds for calls of other threads.
static void judge_the_end(void) {
  if (ended) verdict("an end that waits for no call", seconds_since_boot() - ended < 9);
}

static void multiply_for_ever(void) {
  for (;;) multiply(N, N, N, a, N, b, N, 0.0, c, N);
}

static void exit_in_handler(void) {
  verdict("before", computes());
  on(SIGALRM, exit_now);
  ring(100000);
  multiply_for_ever();
}

static void saved(void) {
  printf("state saved\n");
  fflush(stdout);
}

static void term(void) {
  verdict("before", computes());
  atexit(saved);
  on(SIGTERM, exit_now);
  const pid_t self = getpid();
  if (fork() == 0) {
    usleep(100000);
    kill(self, SIGTERM);
    _exit(0);
  }
  multiply_for_ever();
}

/// The signal's default action, which no handler delays.
static void interrupt(void) {
  signal(SIGINT, SIG_DFL);  // a background job of a shell starts with this signal ignored
  verdict("before", computes());
  const pid_t self = getpid();
  if (fork() == 0) {
    usleep(100000);
    kill(self, SIGINT);
    _exit(0);
  }
  multiply_for_ever();
}

enum { LARGE = 300 };  // so large that several threads copy the matrix
static char *barrier, *barrier_end;
static volatile sig_atomic_t faults = 0;

static void lift(int signal, siginfo_t* information, void* context) {
  (void)context;
  char* const address = information->si_addr;
  if (address < barrier || address >= barrier_end) _exit(90 + signal);
  ++faults;
  const uintptr_t page = (uintptr_t)address & ~(uintptr_t)4095;
  mprotect((void*)page, 4096, PROT_READ | PROT_WRITE);
}

static double* pages(unsigned seed) {
  double* values = mapped_doubles(LARGE * LARGE);
  fill(values, LARGE * LARGE, seed);
  return values;
}

/// A handler removes the protection of pages one by one, as in garbage collectors and checkpointers.
static void barriers(int protection, int on_result, int calls_before) {
  double *x = pages(1), *y = pages(2), *z = pages(3);
  int right = 1;
  for (int call = 0; call < calls_before; ++call)
    right &= multiplies(LARGE, LARGE, LARGE, x, LARGE, y, LARGE, 0, z, LARGE);
  struct sigaction action = {.sa_sigaction = lift, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  barrier = (char*)(on_result ? z : x);
  barrier_end = barrier + LARGE * LARGE * sizeof(double);
  mprotect(barrier, (LARGE * LARGE * sizeof(double) + 4095) & ~(size_t)4095, protection);
  multiply(LARGE, LARGE, LARGE, x, LARGE, y, LARGE, 0, z, LARGE);
  right &= holds_product(LARGE, LARGE, LARGE, x, LARGE, y, LARGE, 0, NULL, z, LARGE);
  verdict("a product behind a barrier", right && faults > 0);
}

static void exit_in_fault(void) {
  double *x = pages(1), *y = pages(2), *z = pages(3);
  verdict("before", computes());
  on(SIGSEGV, exit_now);
  mprotect(x, 4096, PROT_NONE);
  multiply(LARGE, LARGE, LARGE, x, LARGE, y, LARGE, 0, z, LARGE);
}

static int cleaned = 0;
static void clean(void* argument) {
  (void)argument;
  ++cleaned;
}

/// The thread is cancelled before its calls, none of which is a cancellation point.
static void* call_cancelled(void* result) {
  double* z = filled(COUNT, 4);
  pthread_cleanup_push(clean, NULL);
  pthread_cancel(pthread_self());
  for (int call = 0; call < 3; ++call) multiply(N, N, N, a, N, b, N, 0.0, z, N);
  *(int*)result = holds_product(N, N, N, a, N, b, N, 0.0, NULL, z, N);
  pthread_testcancel();
  pthread_cleanup_pop(0);
  return NULL;
}

static void* call_until_cancelled(void* result) {
  double* z = filled(4 * COUNT, 4);
  double* x = filled(4 * COUNT, 5);
  pthread_cleanup_push(clean, NULL);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  *(volatile int*)result = 1;
  for (;;) multiply(2 * N, 2 * N, 2 * N, x, 2 * N, x, 2 * N, 0.0, z, 2 * N);
  pthread_cleanup_pop(0);
  return NULL;
}

static void cancel(int asynchronous) {
  int right = 1;
  const int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    pthread_t thread;
    volatile int reached = 0;
    void* how = NULL;
    pthread_create(&thread, NULL, asynchronous ? call_until_cancelled : call_cancelled, (int*)&reached);
    while (asynchronous && !reached) usleep(100);
    if (asynchronous) usleep(20000 + 1000 * round);
    if (asynchronous) pthread_cancel(thread);
    pthread_join(thread, &how);
    right &= reached && how == PTHREAD_CANCELED && computes();
  }
  verdict("threads cancelled among their calls", right && cleaned == rounds);
}

/// The BLAS calls xerbla_ for an invalid argument; it jumps here.
static jmp_buf* way_out = NULL;

void xerbla_(const char* routine, const int* argument) {
  (void)routine, (void)argument;
  if (way_out) longjmp(*way_out, 1);
  pthread_exit(NULL);
}

static void* call_wrongly(void* returned) {
  pthread_cleanup_push(clean, NULL);
  multiply(-1, N, N, a, N, b, N, 0.0, c, N);
  *(int*)returned = 1;
  pthread_cleanup_pop(0);
  return NULL;
}

static void leave_in_xerbla(void) {
  int right = 1;
  for (int round = 0; round < 3; ++round) {
    pthread_t thread;
    int returned = 0;
    pthread_create(&thread, NULL, call_wrongly, &returned);
    pthread_join(thread, NULL);
    right &= !returned && computes();
  }
  verdict("threads that leave in xerbla", right && cleaned == 3);
}

/// Computes in a frame that is `bytes` deeper, so that the memory between stays unchanged.
__attribute__((noinline)) static int computes_deep_below(size_t bytes) {
  volatile char* const space = alloca(bytes);
  space[0] = 1;
  return computes() + space[0] - 1;
}

static void jump_out_of_xerbla(void) {
  jmp_buf after;
  volatile int right = 1;
  for (volatile size_t bytes = 64; bytes < 100000; bytes *= 2) {
    way_out = &after;
    if (!setjmp(after)) multiply(-1, N, N, a, N, b, N, 0.0, c, N);
    right &= computes_deep_below(bytes);
  }
  verdict("calls after a jump out of xerbla", right);
}

int main(int argc, char** argv) {
  atexit(judge_the_end);
  a = filled(COUNT, 1);
  b = filled(COUNT, 2);
  c = filled(COUNT, 3);
  const char* name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "handler-calls")) handler_calls();
  if (!strcmp(name, "jump-out")) jump_out();
  if (!strcmp(name, "exit-in-handler")) exit_in_handler();
  if (!strcmp(name, "term")) term();
  if (!strcmp(name, "interrupt")) interrupt();
  if (!strcmp(name, "write-barrier")) barriers(PROT_READ, 1, 0);
  if (!strcmp(name, "write-barrier-later")) barriers(PROT_READ, 1, 3);
  if (!strcmp(name, "read-barrier")) barriers(PROT_NONE, 0, 0);
  if (!strcmp(name, "read-barrier-later")) barriers(PROT_NONE, 0, 3);
  if (!strcmp(name, "exit-in-fault")) exit_in_fault();
  if (!strcmp(name, "cancel")) cancel(0);
  if (!strcmp(name, "leave-in-xerbla")) leave_in_xerbla();
  if (!strcmp(name, "jump-out-of-xerbla")) jump_out_of_xerbla();
  if (!strcmp(name, "cancel-asynchronously")) cancel(1);
  return scenario_status();
}
