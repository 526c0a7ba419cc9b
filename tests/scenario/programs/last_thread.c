// The main thread ends by pthread_exit(). The process ends, with status 0, when no thread is left. Usage: last_thread
// CASE
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

enum { N = 192, COUNT = N * N, ROUNDS = 12, LINKS = 60 };

static double *a, *b, *c;
static pthread_t first;

static int computes(void) {
  multiply(N, N, N, a, N, b, N, 0.0, c, N);
  return holds_product(N, N, N, a, N, b, N, 0.0, c, c, N);
}

/// The result may have stayed on the device.
static void look_at_exit(void) {
  int blocked = 0;
  sigset_t signals;
  pthread_sigmask(SIG_SETMASK, NULL, &signals);
  for (int signal = 1; signal < 32; ++signal) blocked += sigismember(&signals, signal);
  verdict("at exit", holds_product(N, N, N, a, N, b, N, 0.0, c, c, N) && blocked == 0);
}

static void* work_on(void* unused) {
  pthread_join(first, NULL);
  int right = 1;
  for (int round = 0; round < ROUNDS; ++round, usleep(30000)) right &= computes();
  verdict("after the first thread", right);
  multiply(N, N, N, a, N, b, N, 0.0, c, N);
  return unused;
}

/// Each thread creates the next one, and ends.
static void* hand_on(void* number) {
  const long link = (long)number;
  pthread_t next;
  usleep(3000);
  if (link == LINKS) return work_on(NULL);
  if (pthread_create(&next, NULL, hand_on, (void*)(link + 1))) abort();
  pthread_detach(next);
  return NULL;
}

static void* work_in_child(void* unused) {
  usleep(200000);
  verdict("in a child", computes());
  return unused;
}

/// The main thread of the child is this one.
static void* fork_and_work(void* unused) {
  pthread_join(first, NULL);
  const int right = computes();
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_in_child, NULL)) abort();
    pthread_exit(NULL);
  }
  waitpid(child, &status, 0);
  verdict("around a child", right && status == 0);
  return unused;
}

static void start(void* (*body)(void*)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL)) abort();
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  a = filled(COUNT, 1);
  b = filled(COUNT, 2);
  c = filled(COUNT, 3);
  first = pthread_self();
  const int by_others_only = !strcmp(name, "opened-later");
  if (!by_others_only) verdict("at first", computes());
  atexit(look_at_exit);
  if (by_others_only || !strcmp(name, "works-on"))
    start(work_on);
  else if (!strcmp(name, "handed-on"))
    start(hand_on);
  else if (!strcmp(name, "forks"))
    start(fork_and_work);
  else if (strcmp(name, "last"))
    return 99;
  pthread_exit((void*)1);
}
