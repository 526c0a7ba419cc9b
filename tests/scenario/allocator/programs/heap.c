// Every function of the malloc family, for sizes below and above the one from which blocks are placed: in many threads,
// with blocks that other threads free and resize, and in forked children. Usage: heap THREADS STEPS SMALL LARGE. The
// output does not depend on the allocator. Prints the number of placed blocks on stderr if the interposer is loaded.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blastoff_allocator.h"

enum { SLOTS = 256, ALIGNMENTS = 18 };

typedef struct slot {
  pthread_mutex_t mutex;
  unsigned char* block;
  size_t bytes;
  unsigned char mark;
} slot;

static slot slots[SLOTS];
static size_t smallest, largest;
static int common;

static void fail(const char* what) {
  printf("WRONG %s\n", what);
  fflush(stdout);
  _exit(1);
}

static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state;
}

static int chance(uint64_t* state, int one_in) {
  return next_random(state) % one_in == 0;
}

// Writes a mark at both ends and on every page, so that a wrong or a lost page is noticed.
static void mark(slot* s) {
  for (size_t i = 0; i < s->bytes; i += 1021) s->block[i] = s->mark;
  if (s->bytes > 0) s->block[s->bytes - 1] = s->mark;
}

static void check_pages(const slot* s, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 1021)
    if (s->block[i] != s->mark) fail("contents");
}

static void check(const slot* s) {
  check_pages(s, s->bytes);
  if (s->bytes > 0 && s->block[s->bytes - 1] != s->mark) fail("last byte");
}

static size_t random_size(uint64_t* state) {
  const size_t range = largest - smallest;
  if (chance(state, 4)) return 1 + next_random(state) % 200;
  if (chance(state, 8)) return (smallest + next_random(state) % range) & ~(size_t)4095;
  return smallest + next_random(state) % range;
}

static void* aligned(uint64_t* state, size_t bytes, size_t alignment) {
  void* block = NULL;
  switch (next_random(state) % 3) {
    case 0: return memalign(alignment, bytes);
    case 1: return aligned_alloc(alignment, bytes);
    default: return posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
  }
}

static int all_zero(const unsigned char* block, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    if (block[i] != 0) return 0;
  return 1;
}

static void* make(uint64_t* state, size_t bytes) {
  size_t alignment = bytes < 16 ? 8 : 16;
  void* block = NULL;
  switch (next_random(state) % 6) {
    case 0: block = malloc(bytes); break;
    case 1:
      block = calloc(bytes / 8 + 1, 8);
      if (!all_zero(block, bytes)) fail("calloc");
      break;
    case 2: block = reallocarray(NULL, bytes + 1, 1); break;
    case 3: block = valloc(bytes), alignment = 4096; break;
    case 4: block = common ? valloc(bytes) : pvalloc(bytes), alignment = 4096; break;
    default: alignment = (size_t)16 << next_random(state) % ALIGNMENTS; block = aligned(state, bytes, alignment);
  }
  if (block == NULL) fail("allocation");
  if ((uintptr_t)block % alignment != 0) fail("alignment");
  if (malloc_usable_size(block) < bytes) fail("usable size");
  return block;
}

static void replace(slot* s, uint64_t* state) {
  check(s);
  free(s->block);
  s->bytes = random_size(state);
  s->block = make(state, s->bytes);
  if (chance(state, 4)) s->bytes = malloc_usable_size(s->block);
  s->mark = (unsigned char)(1 + next_random(state) % 255);
  mark(s);
}

static void resize(slot* s, uint64_t* state) {
  const size_t bytes = 1 + random_size(state);
  check(s);
  unsigned char* const block = chance(state, 2) ? realloc(s->block, bytes) : reallocarray(s->block, bytes, 1);
  if (block == NULL) fail("realloc");
  s->block = block;
  check_pages(s, bytes < s->bytes ? bytes : s->bytes);
  s->bytes = bytes;
  mark(s);
}

static void step(uint64_t* state) {
  slot* const s = &slots[next_random(state) % SLOTS];
  pthread_mutex_lock(&s->mutex);
  if (s->block == NULL || chance(state, 2))
    replace(s, state);
  else
    resize(s, state);
  pthread_mutex_unlock(&s->mutex);
}

static int steps;

static void* run(void* seed) {
  uint64_t state = 0x9e3779b97f4a7c15u * (uintptr_t)seed;
  for (int i = 0; i < steps; ++i) step(&state);
  return NULL;
}

static void take_all(void) {
  for (int i = 0; i < SLOTS; ++i) pthread_mutex_lock(&slots[i].mutex);
}

static void let_go_of_all(void) {
  for (int i = 0; i < SLOTS; ++i) pthread_mutex_unlock(&slots[i].mutex);
}

// Forks children. Each child checks that every block is unchanged, frees and resizes blocks, and makes new ones.
static void fork_meanwhile(int children) {
  for (int child = 0; child < children; ++child) {
    usleep(3000);
    const pid_t pid = fork();
    if (pid == 0) {
      let_go_of_all();
      uint64_t state = 77u + (unsigned)child;
      for (int i = 0; i < 200; ++i) step(&state);
      _exit(0);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) fail("child of fork");
  }
}

static void report(void) {
  void (*counts)(blastoff_placement*) = (void (*)(blastoff_placement*))dlsym(RTLD_DEFAULT, "blastoff_allocator_counts");
  if (counts == NULL) return;
  blastoff_placement placement;
  counts(&placement);
  fprintf(stderr, "placed %llu bound %llu left %llu\n", placement.placed_blocks, placement.bound_blocks,
          placement.left_blocks);
}

int main(int count, char** arguments) {
  if (count < 5) return 2;
  common = count > 5;
  const int threads = atoi(arguments[1]);
  steps = atoi(arguments[2]);
  smallest = strtoul(arguments[3], NULL, 10);
  largest = strtoul(arguments[4], NULL, 10);
  for (int i = 0; i < SLOTS; ++i) pthread_mutex_init(&slots[i].mutex, NULL);
  free(malloc(largest));  // so that messages that appear once are printed before there are children
  pthread_t ids[64];
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, run, (void*)(uintptr_t)(i + 1));
  pthread_atfork(take_all, let_go_of_all, NULL);
  fork_meanwhile(5);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < SLOTS; ++i)
    if (slots[i].block != NULL) check(&slots[i]), free(slots[i].block);
  printf("%d threads, %d steps: right\n", threads, steps);
  report();
  return 0;
}
