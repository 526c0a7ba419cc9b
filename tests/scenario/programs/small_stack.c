// Calls on a very small stack. Usage: small_stack threads|coroutines|handler|loading KIBIBYTES [LIBRARY]
// handler: on an alternate signal stack of this size. loading: a thread with a stack of this size loads LIBRARY.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "scenario.h"

enum { order = 60, elements = order * order, threads = 4, rounds = 3 };

static double *left, *right_side, *expected;

static int equal(const double* result) {
  for (int i = 0; i < elements; ++i)
    if (result[i] != expected[i]) return 0;
  return 1;
}

static double* results[threads];
static int right[threads];
static const char* library;

static void work(int number) {
  for (int round = 0; round < rounds; ++round)
    multiply(order, order, order, left, order, right_side, order, 0, results[number], order);
  right[number] = equal(results[number]);
}

static void* run_thread(void* argument) {
  if (library != NULL && dlopen(library, RTLD_NOW) == NULL) return NULL;
  work((int)(long)argument);
  return NULL;
}

static void in_threads(size_t bytes) {
  pthread_t thread[threads];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, bytes) != 0) abort();
  for (long t = 0; t < threads; ++t)
    if (pthread_create(&thread[t], &attributes, run_thread, (void*)t) != 0) abort();
  for (int t = 0; t < threads; ++t) pthread_join(thread[t], NULL);
}

static void in_coroutines(size_t bytes) {
  const size_t guard = 1 << 16;
  for (int t = 0; t < threads; ++t) {
    char* const memory = mmap(NULL, guard + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + guard, bytes, PROT_READ | PROT_WRITE);
    ucontext_t own, caller;
    getcontext(&own);
    own.uc_stack.ss_sp = memory + guard;
    own.uc_stack.ss_size = bytes;
    own.uc_link = &caller;
    makecontext(&own, (void (*)(void))work, 1, t);
    swapcontext(&caller, &own);
    munmap(memory, guard + bytes);
  }
}

static void handle(int signal) {
  (void)signal;
  for (int t = 0; t < threads; ++t) work(t);
}

static void in_handler(size_t bytes) {
  const size_t guard = 1 << 16;
  char* const memory = mmap(NULL, guard + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + guard, bytes, PROT_READ | PROT_WRITE);
  const stack_t stack = {.ss_sp = memory + guard, .ss_size = bytes};
  if (sigaltstack(&stack, NULL) != 0) abort();
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}

int main(int count, char** words) {
  if (count < 3) return 99;
  const size_t bytes = (size_t)atoi(words[2]) << 10;
  if (count > 3) library = words[3];
  left = malloc(elements * sizeof *left);
  right_side = malloc(elements * sizeof *right_side);
  expected = calloc(elements, sizeof *expected);
  for (int t = 0; t < threads; ++t) results[t] = calloc(elements, sizeof(double));
  for (int i = 0; i < elements; ++i) left[i] = i % 13, right_side[i] = i % 7;
  for (int j = 0; j < order; ++j)
    for (int l = 0; l < order; ++l)
      for (int i = 0; i < order; ++i) expected[i + j * order] += left[i + l * order] * right_side[l + j * order];

  if (strcmp(words[1], "coroutines") == 0)
    in_coroutines(bytes);
  else if (strcmp(words[1], "handler") == 0)
    in_handler(bytes);
  else
    in_threads(bytes);
  for (int t = 0; t < threads; ++t) verdict("calls on a small stack", right[t]);
  return scenario_status();
}
