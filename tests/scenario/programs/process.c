// A process forks, starts other programs, or ends in every possible way after it has offloaded. Usage: process CASE
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

extern char** environ;

enum { N = 96, COUNT = N * N };
static double *a, *b, *c;

static int computes(unsigned seed) {
  a[seed % COUNT] += 1.0;
  return multiplies(N, N, N, a, N, b, N, 0.5, c, N);
}

/// Whether `body` finds all results right in a forked child.
static int in_child(int (*body)(unsigned)) {
  const pid_t child = fork();
  if (child == 0) _exit(body(7) && body(8) ? 0 : 1);
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int computes_with_grandchild(unsigned seed) {
  return computes(seed) && in_child(computes) && computes(seed + 1);
}

/// The parent has not called BLAS, so the child lacks no thread of Blastoff.
static void fork_first(void) {
  const pid_t child = fork();
  if (child == 0) {
    const int right = computes(1);
    fflush(stdout);
    exit(right ? 0 : 1);
  }
  int status = 1;
  verdict("a child of a process without calls", waitpid(child, &status, 0) == child && status == 0);
}

/// The child ends by exit(3), after three calls of its own.
static void fork_and_exit(void) {
  verdict("before fork", computes(1));
  const pid_t child = fork();
  if (child == 0) exit(computes(7) && computes(8) && computes(9) ? 0 : 1);
  int status = 1;
  verdict("in the child", waitpid(child, &status, 0) == child && status == 0);
}

static void fork_after(void) {
  verdict("before fork", computes(1));
  verdict("in the child", in_child(computes));
  verdict("in the parent", computes(2));
  verdict("in a grandchild", in_child(computes_with_grandchild));
  int right = 1;
  for (unsigned round = 0; round < 10; ++round) right &= in_child(computes) && computes(round);
  verdict("many children", right);
}

__attribute__((weak)) pid_t _Fork(void);  // glibc 2.34

/// Forks in ways that call no handler of pthread_atfork().
static pid_t fork_unseen(const char* how) {
  if (!strcmp(how, "_Fork") && _Fork) return _Fork();
#ifdef SYS_fork
  if (!strcmp(how, "SYS_fork")) return (pid_t)syscall(SYS_fork);
#endif
  return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/// The child writes to the matrices and continues, then the parent does. The child ends by exit(), which runs exit
/// handlers.
static void fork_and_both_go_on(const char* how) {
  int right = 1;
  for (unsigned round = 0; round < 3; ++round) right &= computes(round);
  const pid_t child = fork_unseen(how);
  if (child == 0) {
    for (unsigned round = 0; round < 4; ++round) right &= computes(N * round);
    exit(right ? 0 : 1);
  }
  int status = -1;
  verdict("the child", waitpid(child, &status, 0) == child && status == 0);
  for (unsigned round = 0; round < 3; ++round) right &= computes(N * round + 1);
  verdict("the parent", right);
}

/// A child that goes on computing does not disturb its parent.
static void fork_and_compete(const char* how) {
  int right = computes(1);
  const pid_t child = fork_unseen(how);
  while (child == 0) multiply(N, N, N, a, N, b, N, 0.0, c, N);
  for (unsigned round = 0; round < 300; ++round) {
    a[round] += 1.0;
    usleep(50);
    right &= computes(N + round);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  verdict("the parent beside a child that computes", right);
}

static void* computes_on(void* result) {
  double* x = filled(COUNT, 11);
  double* y = filled(COUNT, 12);
  double* z = filled(COUNT, 13);
  int right = 1;
  for (int round = 0; round < 40; ++round) {
    x[round] += 1.0;
    right &= multiplies(N, N, N, x, N, y, N, 0.5, z, N);
  }
  free(x);
  free(y);
  free(z);
  *(int*)result = right;
  return NULL;
}

static void fork_beside_threads(void) {
  pthread_t threads[4];
  int results[4];
  for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, computes_on, &results[t]);
  int children = 1, right = 1;
  for (unsigned round = 0; round < 10; ++round) children &= in_child(computes);
  for (int t = 0; t < 4; ++t) {
    pthread_join(threads[t], NULL);
    right &= results[t];
  }
  verdict("children forked while other threads call", children);
  verdict("those threads", right && computes(3));
}

static void start_others(void) {
  verdict("before", computes(1));
  verdict("system(3)", system("exit 5") == 5 << 8);
  FILE* pipe = popen("echo hello", "r");
  char line[16] = "";
  verdict("popen(3)", pipe && fgets(line, sizeof line, pipe) && !strcmp(line, "hello\n") && pclose(pipe) == 0);
  char* arguments[] = {"true", NULL};
  pid_t child;
  int status = -1;
  verdict("posix_spawn(3)", !posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) &&
                                waitpid(child, &status, 0) == child && status == 0);
  verdict("after", computes(2));
}

static void* compute_forever(void* argument) {
  (void)argument;
  double* x = filled(COUNT, 11);
  double* z = filled(COUNT, 13);
  for (;;) multiply(N, N, N, x, N, x, N, 0.0, z, N);
  return NULL;
}

static void at_exit(void) {
  verdict("at exit", computes(5));
}

static int calls_last = 0;

/// Runs after all exit handlers, before the libraries' destructors.
__attribute__((destructor)) static void last(void) {
  if (calls_last) verdict("in the last destructor", computes(6) && computes(7));
}

static void end(const char* how) {
  if (!strcmp(how, "return")) return;
  if (!strcmp(how, "exit")) exit(3);
  if (!strcmp(how, "_exit")) _exit(4);
  if (!strcmp(how, "quick_exit")) quick_exit(5);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) raise(SIGSEGV);
  if (!strcmp(how, "term")) kill(getpid(), SIGTERM);
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "destructor")) {
    calls_last = 1;
    exit(9);
  }
  if (!strcmp(how, "exec")) execl("/bin/sh", "sh", "-c", "echo executed; exit 6", (char*)NULL);
  if (!strcmp(how, "at-exit")) {
    atexit(at_exit);
    exit(7);
  }
  pthread_t thread;
  if (!strcmp(how, "exit-beside-threads")) {
    for (int t = 0; t < 4; ++t) pthread_create(&thread, NULL, compute_forever, NULL);
    usleep(20000);
    exit(8);
  }
  _exit(99);
}

int main(int argc, char** argv) {
  a = filled(COUNT, 1);
  b = filled(COUNT, 2);
  c = filled(COUNT, 3);
  const char* name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "fork-first"))
    fork_first();
  else if (!strcmp(name, "fork"))
    fork_after();
  else if (!strcmp(name, "fork-and-exit"))
    fork_and_exit();
  else if (!strcmp(name, "fork-beside-threads"))
    fork_beside_threads();
  else if (!strcmp(name, "fork-unseen"))
    fork_and_both_go_on(argv[2]);
  else if (!strcmp(name, "compete-unseen"))
    fork_and_compete(argv[2]);
  else if (!strcmp(name, "start-others"))
    start_others();
  else {
    verdict("computed", computes(1) && computes(2));
    end(name);
  }
  return scenario_status();
}
