// Frees memory in every way, and prints what a listener (listener.c, which stands for libblastoff.so) was told.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "listener.h"

enum { BYTES = 1 << 20 };

static heard* (*take)(int*);

// Prints all events since the last time, with addresses relative to `base`.
static void tell(const char* what, const void* base, const void* target) {
  int count = 0;
  const heard* events = take(&count);
  printf("%s:", what);
  for (int i = 0; i < count; ++i) {
    const char* kinds[] = {"unmapped", "moved", "dropped"};
    const long offset = (long)((uintptr_t)events[i].begin - (uintptr_t)base);
    const int elsewhere = offset < 0 || offset > 4 * BYTES;
    printf(" %s", kinds[events[i].kind]);
    if (target != NULL && events[i].begin == target)
      printf(" target");
    else if (elsewhere)
      printf(" elsewhere");
    else
      printf(" %ld", offset);
    printf("+%zu%s%s;", events[i].bytes,
           events[i].moved_to == NULL     ? ""
           : events[i].moved_to == target ? " to target"
                                          : " to another",
           events[i].mapped ? "" : " TOO LATE");
  }
  printf("\n");
}

static char* map(size_t bytes) {
  char* const block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) exit(1);
  memset(block, 1, bytes);
  return block;
}

static void heap(void) {
  char* block = malloc(BYTES);
  memset(block, 1, BYTES);
  free(block);
  tell("free", block, NULL);
  block = malloc(1000);
  free(block);
  tell("free of a small block", block, NULL);
  free(NULL);
  tell("free(NULL)", NULL, NULL);
  block = malloc(BYTES);
  char* const obstacle = malloc(BYTES);
  memset(block, 1, BYTES);
  char* const grown = realloc(block, 3 * BYTES);
  tell("realloc", block, grown);
  free(grown);
  free(obstacle);
  tell("both freed", grown, obstacle);
}

static void mappings(void) {
  char* block = map(BYTES);
  munmap(block, BYTES);
  tell("munmap", block, NULL);

  block = map(BYTES);
  madvise(block, BYTES / 2, MADV_DONTNEED);
  tell("madvise(MADV_DONTNEED)", block, NULL);
  madvise(block, BYTES, MADV_HUGEPAGE);
  tell("madvise(MADV_HUGEPAGE)", block, NULL);
  mmap(block + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  tell("mmap(MAP_FIXED)", block, NULL);
  mmap(block, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  tell("mmap elsewhere", block, NULL);
  mremap(block + 8192, BYTES - 8192, BYTES - 12288, 0);
  tell("mremap, smaller", block, NULL);
  munmap(block, BYTES);
  tell("munmap again", block, NULL);

  block = map(BYTES);
  char* const target = map(4 * BYTES);
  mremap(block, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  tell("mremap to a target", block, target);
  mremap(target, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
  tell("mremap anywhere", target, NULL);
}

static void data_segment(void) {
  char* const begin = sbrk(1 << 16);
  tell("sbrk, more", begin, NULL);
  sbrk(-(1 << 16));
  tell("sbrk, less", begin, NULL);
  sbrk(1 << 16);
  if (brk(begin) != 0) exit(1);
  tell("brk, less", begin, NULL);
}

int main(int count, char** arguments) {
  take = (heard * (*)(int*)) dlsym(RTLD_DEFAULT, "heard_since_last_time");
  if (take == NULL || count != 2) return 2;
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // allocates from the heap, whose addresses do not depend on the kernel
  setvbuf(stdout, NULL, _IONBF, 0);
  tell("nothing yet", NULL, NULL);
  if (strcmp(arguments[1], "heap") == 0) heap();
  if (strcmp(arguments[1], "mappings") == 0) mappings();
  if (strcmp(arguments[1], "data-segment") == 0) data_segment();
  // Libraries that look these names up to patch them must find the C library's functions.
  const char* names[] = {"munmap", "mmap", "mremap", "madvise", "brk", "sbrk"};
  for (int i = 0; i < 6; ++i) {
    Dl_info info;
    if (dladdr(dlsym(RTLD_DEFAULT, names[i]), &info) == 0 || strstr(info.dli_fname, "libc.so") == NULL)
      printf("WRONG: %s is in %s\n", names[i], info.dli_fname);
  }
  return 0;
}
