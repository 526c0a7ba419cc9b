// A cache of registered memory, as in an MPI library. UCX tells it about memory that anybody unmaps. Status 77: UCX is
// not installed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { VM_UNMAPPED = 1 << 17, BYTES = 48 << 20 };

typedef struct unmapped {
  void* address;
  size_t bytes;
} unmapped;

typedef int set_handler(int events, int priority, void (*handler)(int, unmapped*, void*), void* argument);

static volatile uintptr_t watched, heard;

static void note(int type, unmapped* event, void* unused) {
  (void)unused;
  const uintptr_t begin = (uintptr_t)event->address;
  if (type == VM_UNMAPPED && begin <= watched && watched < begin + event->bytes) heard = watched;
}

static void check(const char* what, const char* page) {
  printf("%s: %s\n", what, heard == (uintptr_t)page ? "heard" : "NOT HEARD");
  heard = 0;
}

static char* watch(char* block) {
  memset(block, 1, BYTES);
  watched = (uintptr_t)block + BYTES / 2;
  return (char*)watched;
}

int main(void) {
  void* const ucx = dlopen("libucs.so.0", RTLD_NOW | RTLD_GLOBAL);
  if (ucx == NULL) return 77;
  set_handler* const set = (set_handler*)dlsym(ucx, "ucm_set_event_handler");
  if (set == NULL || set(VM_UNMAPPED, 1000, note, NULL) != 0) return 77;
  char* block = malloc(BYTES);
  char* page = watch(block);
  free(block);
  check("free", page);
  block = malloc(BYTES);
  page = watch(block);
  char* const obstacle = malloc(BYTES);
  block = realloc(block, 3 * (size_t)BYTES);
  check("realloc", page);
  free(obstacle);
  free(block);
  heard = 0;
  block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page = watch(block);
  munmap(block, BYTES);
  check("munmap", page);
  block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  page = watch(block);
  madvise(block, BYTES, MADV_DONTNEED);
  check("madvise", page);
  return 0;
}
