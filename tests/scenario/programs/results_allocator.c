// An allocator of the program's own, which writes to the memory of a result while it holds its lock, as one does that
// keeps lists in freed blocks. Usage: results_allocator
#define _GNU_SOURCE
#include <pthread.h>

#include "results.h"

extern void* __libc_malloc(size_t size);
extern void __libc_free(void* memory);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double* volatile list = NULL;

void* malloc(size_t size) {
  pthread_mutex_lock(&lock);
  if (list != NULL) list[COUNT / 2] = 1;
  void* const memory = __libc_malloc(size);
  pthread_mutex_unlock(&lock);
  return memory;
}

void free(void* memory) {
  pthread_mutex_lock(&lock);
  __libc_free(memory);
  pthread_mutex_unlock(&lock);
}

int main(void) {
  prepare(mapped());
  accumulate(c);
  list = c;
  void* const volatile memory = malloc(100);
  list = NULL;
  free(memory);
  expected[COUNT / 2] = 1;
  verdict("what the allocator left", right_now_and_later());
  return scenario_status();
}
