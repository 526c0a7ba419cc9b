// A program of another C library that calls the functions which Blastoff interposes: allocations, mappings, ioctl(),
// dlopen(), threads.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static void* allocate(void* unused) {
  (void)unused;
  return calloc(1000, 100);
}

int main(void) {
  char* block = malloc(1 << 24);
  memset(block, 1, 1 << 24);
  block = realloc(block, 1 << 25);
  printf("allocated %d\n", block[(1 << 24) - 1]);
  free(block);

  void* mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mapped = mremap(mapped, 8192, 1 << 20, MREMAP_MAYMOVE);
  printf("moved %d\n", mapped != MAP_FAILED);
  munmap(mapped, 1 << 20);

  int waiting = -1;
  printf("ioctl %d\n", ioctl(open("/dev/null", O_RDONLY), FIONREAD, &waiting));

  void* loaded = dlopen("no-such-library.so", RTLD_NOW);
  printf("loaded %d, %s\n", loaded != NULL, dlerror());

  pthread_t thread;
  void* of_thread = NULL;
  pthread_create(&thread, NULL, allocate, NULL);
  pthread_join(thread, &of_thread);
  printf("thread %d\n", of_thread != NULL);
  free(of_thread);
  return 3;
}
