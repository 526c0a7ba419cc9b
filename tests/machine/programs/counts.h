// The numbers of system calls of a program under `counted`, which the program itself can read.
#pragma once

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { COUNTS_DESCRIPTOR = 9, SYSTEM_CALLS = 512 };

struct counts {
  _Atomic unsigned long of_main_thread[SYSTEM_CALLS];
  _Atomic unsigned long moves;  // move_pages calls of all threads, without those that only ask where pages are
};

static inline struct counts* shared_counts(void) {
  void* shared = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, COUNTS_DESCRIPTOR, 0);
  if (shared == MAP_FAILED) {
    fprintf(stderr, "not started by counted\n");
    exit(2);
  }
  return shared;
}

/// System calls of the main thread, without the fast ones that every offloaded call makes: holding signals back, and
/// asking whether this is still the process that opened the device. Asking for the time does not count either, since it
/// is a system call only if the clock is slow.
static inline unsigned long system_calls(const struct counts* counts) {
  unsigned long sum = 0;
  for (int call = 0; call < SYSTEM_CALLS; ++call) {
    const int usual = call == SYS_rt_sigaction || call == SYS_rt_sigprocmask || call == SYS_getpid;
    if (call != SYS_clock_gettime && !usual) sum += counts->of_main_thread[call];
  }
  return sum;
}
