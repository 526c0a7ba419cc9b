/* A program that loads Blastoff while a thread has stopped in the middle of the first instructions of dgemm_.
 *
 * usage: between_instructions LIBRARY BLAS COUNT
 * The thread executes one instruction at a time (by the trap flag, on x86-64 only), and waits after the first COUNT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#include "scenario.h"

typedef void Gemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                  const int*, const double*, const int*, const double*, double*, const int*);

enum { N = 4, TRAP_FLAG = 0x100 };

static Gemm* gemm;
static int instructions_left;
static sem_t standing, may_go_on;

static void step(int signal, siginfo_t* unused, void* context) {
  (void)signal, (void)unused;
#if defined(__x86_64__)
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uintptr_t place = (uintptr_t)registers[REG_RIP] - (uintptr_t)gemm;
  if (place == 0 || place > 64 || --instructions_left > 0) return;
  registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
  sem_post(&standing);
  while (sem_wait(&may_go_on) != 0) {
  }
#else
  (void)context;
#endif
}

static void* call_twice(void* unused) {
  const int n = N;
  const double one = 1, zero = 0;
  double *const a = filled(N * N, 1), *const b = filled(N * N, 2), *const c = filled(N * N, 3);
#if defined(__x86_64__)
  __asm__ volatile("pushfq; orq %0, (%%rsp); popfq" ::"i"(TRAP_FLAG) : "memory", "cc");
#endif
  gemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  verdict("the product", holds_product(n, n, n, a, n, b, n, 0.0, NULL, c, n));
  gemm("N", "N", &n, &n, &n, &one, b, &n, a, &n, &zero, c, &n);
  verdict("the next one", holds_product(n, n, n, b, n, a, n, 0.0, NULL, c, n));
  return unused;
}

int main(int count, char** words) {
  void* const blas = count == 4 ? dlopen(words[2], RTLD_NOW | RTLD_LOCAL) : NULL;
  gemm = blas ? (Gemm*)dlsym(blas, "dgemm_") : NULL;
  if (gemm == NULL) return 2;
  instructions_left = atoi(words[3]);
  sem_init(&standing, 0, 0);
  sem_init(&may_go_on, 0, 0);
  struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, call_twice, NULL);
  while (sem_wait(&standing) != 0) {
  }
  void* const blastoff = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  int (*const enable)(void) = blastoff ? (int (*)(void))dlsym(blastoff, "blastoff_enable") : NULL;
  if (enable == NULL) return 3;
  enable();
  sem_post(&may_go_on);
  pthread_join(thread, NULL);
  return scenario_status();
}
