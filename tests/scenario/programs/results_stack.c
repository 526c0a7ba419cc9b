// A result on the stack of a thread, where later frames of the allocator may lie. Usage: results_stack
#define _GNU_SOURCE
#include <pthread.h>

#include "results.h"

static void* use_stack(void* holds) {
  double matrix[COUNT];
  memset(matrix, 0, sizeof matrix);
  memset(expected, 0, bytes);
  accumulate(matrix);
  *(int*)holds = right(matrix);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  int holds = 0;
  prepare(mapped());
  accumulate(c);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 8 << 20);
  if (pthread_create(&thread, &attributes, use_stack, &holds) != 0) return 99;
  pthread_join(thread, NULL);
  verdict("on a thread's stack", holds);
  return scenario_status();
}
