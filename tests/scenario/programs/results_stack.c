// A result on the stack of a thread. Later frames lie there, also those of the program's allocator, which holds its
// lock meanwhile. Usage: results_stack
#define _GNU_SOURCE
#include <pthread.h>

#include "results.h"

extern void* __libc_malloc(size_t size);
extern void __libc_free(void* memory);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile size_t deep = 0;  ///< bytes of the allocator's frame

__attribute__((noinline)) static void use_frame(size_t size) {
  char frame[size];
  for (size_t at = size; at > 0; at -= at < 1024 ? at : 1024) ((volatile char*)frame)[at - 1] = 1;
}

void* malloc(size_t size) {
  pthread_mutex_lock(&lock);
  if (deep > 0) use_frame(deep);
  void* const memory = __libc_malloc(size);
  pthread_mutex_unlock(&lock);
  return memory;
}

void free(void* memory) {
  pthread_mutex_lock(&lock);
  __libc_free(memory);
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static int right_on_stack(void) {
  double matrix[COUNT];
  memset(matrix, 0, sizeof matrix);
  memset(expected, 0, bytes);
  accumulate(matrix);
  const int now = right(matrix);
  accumulate(matrix);
  return now;
}

__attribute__((noinline)) static void allocate(void) {
  deep = bytes;
  void* const volatile memory = malloc(100);
  deep = 0;
  free(memory);
}

static void* use_stack(void* holds) {
  *(int*)holds = right_on_stack();
  allocate();
  *(int*)holds &= right_on_stack();
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
