// A result that has stayed on the device in a process that forks, starts programs or ends. Usage: results_life CASE
// FILE
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results.h"

extern char** environ;

static int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

/// A child that no handler of pthread_atfork() knows of does not have the memory, unless it shares it.
static int cloned(void) {
  unsigned char resident[COUNT * sizeof(double) / 4096 + 1];
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit((mincore(c, bytes, resident) != 0 && errno == ENOMEM) || right(c) ? 0 : 1);
  return status_of(child) == 0 && right_now_and_later();
}

static int look_as_child(void* matrix) {
  return right(matrix) ? 0 : 1;
}

static int cloned_with_shared_memory(void) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  const pid_t child = clone(look_as_child, stack + sizeof stack, CLONE_VM | SIGCHLD, c);
  return status_of(child) == 0 && right_now_and_later();
}

static int starts_programs(void) {
  char* arguments[] = {"sh", "-c", "exit 3", NULL};
  pid_t child;
  int all = system("exit 3") == 3 << 8;
  all &= posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) == 0 && status_of(child) == 3 << 8;
  child = vfork();
  if (child == 0) {
    execv("/bin/sh", arguments);
    _exit(99);
  }
  return all && status_of(child) == 3 << 8 && right_now_and_later();
}

/// The child's memory is its own: it drops the result and forks again, and the parent computes on.
static int has_grandchildren(void) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      accumulate(c);
      _exit(right(c) ? 0 : 1);
    }
    const int found = status_of(grandchild) == 0;
    munmap(c, bytes);
    _exit(found ? 0 : 1);
  }
  return status_of(child) == 0;
}

static volatile int go_on = 1;

/// Whether a matrix is right that nobody changes but this thread.
static void* look_again_and_again(void* matrix) {
  long all = 1;
  while (go_on) all &= right(matrix);
  return (void*)all;
}

static int forks_beside_readers(void) {
  pthread_t threads[2];
  int all = 1;
  for (int t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, look_again_and_again, c);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(right(c) ? 0 : 1);
    all &= status_of(child) == 0;
    double* const other = mapped();
    for (int call = 0; call < 3; ++call) multiply(N, N, K, a, N, b, K, 0.0, other, N);
    munmap(other, bytes);
  }
  go_on = 0;
  for (int t = 0; t < 2; ++t) {
    void* found = NULL;
    pthread_join(threads[t], &found);
    all &= found != NULL;
  }
  return all && right_now_and_later();
}

static void* look_for_ever(void* matrix) {
  for (;;)
    if (!right(matrix)) _exit(98);
}

static void start_readers(void) {
  pthread_t thread;
  for (int t = 0; t < 3; ++t) pthread_create(&thread, NULL, look_for_ever, c);
}

/// exit() runs handlers while threads still wait for pages.
static int ends_beside_readers(void) {
  start_readers();
  exit(3);
}

static int ends_at_once(void) {
  start_readers();
  _exit(4);
}

static int becomes_another_program(void) {
  start_readers();
  execl("/bin/sh", "sh", "-c", "echo executed; exit 6", (char*)NULL);
  return 0;
}

/// The core file is written while nobody fills pages.
static int aborts(void) {
  const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_CORE, &all);
  start_readers();
  abort();
}

static int is_killed(void) {
  start_readers();
  kill(getpid(), SIGKILL);
  return 0;
}

static int is_killed_alone(void) {
  kill(getpid(), SIGKILL);
  return 0;
}

static int sleeps(void) {
  printf("computed\n");
  fflush(stdout);
  sleep(60);
  return 1;
}

static int ends_without_a_look(void) {
  return 1;
}

static void* look_when_the_first_thread_has_ended(void* first) {
  pthread_join(*(pthread_t*)first, NULL);
  verdict("after the first thread", right_now_and_later());
  exit(scenario_status());
}

static int goes_on_without_its_first_thread(void) {
  static pthread_t first;
  pthread_t thread;
  first = pthread_self();
  pthread_create(&thread, NULL, look_when_the_first_thread_has_ended, &first);
  pthread_exit(NULL);
}

static void look_at_exit(void) {
  verdict("at exit", right_now_and_later());
  if (scenario_status() != 0) _exit(scenario_status());
}

/// The handler is younger than the first call, so that it runs first.
static int looks_at_exit(void) {
  return atexit(look_at_exit) == 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  prepare(mapped());
  accumulate(c);
  const struct result_case cases[] = {
      {"clone", cloned},
      {"clone-sharing", cloned_with_shared_memory},
      {"programs", starts_programs},
      {"grandchildren", has_grandchildren},
      {"fork-beside-readers", forks_beside_readers},
      {"exit-beside-readers", ends_beside_readers},
      {"_exit", ends_at_once},
      {"exec", becomes_another_program},
      {"abort", aborts},
      {"kill", is_killed},
      {"kill-unread", is_killed_alone},
      {"unread", ends_without_a_look},
      {"sleep", sleeps},
      {"first-thread", goes_on_without_its_first_thread},
      {"at-exit", looks_at_exit},
  };
  return run_case(cases, sizeof cases / sizeof cases[0], argv[1]);
}
