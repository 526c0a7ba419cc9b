// Behaviour that the standards and glibc define for unusual arguments, exhausted memory and errno. It must be the same
// for placed blocks. The output does not depend on the allocator. Usage: edges LARGE
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t large;

// Volatile, so that the compiler does not remove or reject such calls.
static void* volatile result;
static volatile size_t huge = (size_t)PTRDIFF_MAX;
static volatile size_t wraps = SIZE_MAX / 8 + 1;  // 8 times this value is 0

static void refused(const char* call, void* block) {
  const int error = errno;
  printf("%s: %s, %s\n", call, block == NULL ? "NULL" : "a block",
         error == ENOMEM ? "ENOMEM"
         : error == 0    ? "no error"
                         : strerror(error));
  free(block);
  errno = 0;
}

static void too_much(void) {
  errno = 0;
  refused("malloc(PTRDIFF_MAX)", malloc(huge));
  refused("malloc(SIZE_MAX)", malloc(2 * huge + 1));
  refused("calloc(huge, 1)", calloc(huge, 1));
  refused("calloc that overflows", calloc(huge, 8));
  refused("calloc that overflows to a size that could be", calloc(wraps + large, 8));
  refused("reallocarray that overflows", reallocarray(NULL, huge, 8));
  refused("reallocarray that overflows to a size that could be", reallocarray(NULL, wraps + large, 8));
  refused("memalign(64, huge)", memalign(64, huge));
  refused("aligned_alloc(1M, huge)", aligned_alloc(1 << 20, huge));
  refused("valloc(huge)", valloc(huge));
  refused("pvalloc(huge)", pvalloc(huge));
  void* block = &block;
  const int error = posix_memalign(&block, 64, huge);
  printf("posix_memalign(64, huge): %s, the pointer is %s\n", error == ENOMEM ? "ENOMEM" : "another",
         block == &block ? "as it was" : "changed");
}

static void odd_alignments(void) {
  void* block = &block;
  for (size_t alignment = 0; alignment <= 24; alignment += 4) {
    const int error = posix_memalign(&block, alignment, large);
    printf("posix_memalign(%zu): %s\n", alignment, error == 0 ? "a block" : error == EINVAL ? "EINVAL" : "another");
    if (error == 0) free(block);
  }
  const volatile size_t no_power_of_two = 24;  // volatile, since a compiler would warn of it
  block = memalign(no_power_of_two, large);
  printf("memalign(24): %s\n", block != NULL ? "a block" : "NULL");
  free(block);
}

static void nothing(void) {
  void* const one = malloc(0);
  void* const other = malloc(0);
  printf("malloc(0): %s\n", one != NULL && other != NULL && one != other ? "blocks" : "none");
  free(one);
  free(other);
  free(NULL);
  result = realloc(malloc(large), 0);
  printf("realloc(block, 0): %s\n", result == NULL ? "NULL" : "a block");
  result = calloc(0, large);
  printf("calloc(0, n): %s\n", result != NULL ? "a block" : "NULL");
  free(result);
  printf("malloc_usable_size(NULL): %zu\n", malloc_usable_size(NULL));
}

static void failing_realloc(void) {
  char* const block = malloc(large);
  memset(block, 7, large);
  errno = 0;
  void* const grown = realloc(block, huge);
  printf("realloc(block, huge): %s, %s, ", grown == NULL ? "NULL" : "a block", errno == ENOMEM ? "ENOMEM" : "another");
  for (size_t i = 0; i < large; ++i)
    if (block[i] != 7) printf("WRONG contents\n"), exit(1);
  printf("the block is whole\n");
  free(block);
}

static void errno_stays(void) {
  errno = EDOM;
  void* const block = malloc(large);
  void* const grown = realloc(malloc(large), 3 * large);
  printf("errno after malloc and realloc: %s\n", errno == EDOM ? "as it was" : "changed");
  errno = EDOM;
  free(block);
  free(grown);
  printf("errno after free: %s\n", errno == EDOM ? "as it was" : "changed");
}

static void grows_and_shrinks(void) {
  unsigned char* block = NULL;
  size_t filled = 0;
  for (size_t bytes = 16; bytes < 64 * large; bytes += bytes / 3) {
    block = realloc(block, bytes);
    memset(block + filled, 3, bytes - filled);
    filled = bytes;
  }
  for (size_t bytes = filled; bytes > 16; bytes -= bytes / 3) {
    block = realloc(block, bytes);
    for (size_t i = 0; i < bytes; i += 97)
      if (block[i] != 3) printf("WRONG contents\n"), exit(1);
  }
  printf("grows and shrinks: right\n");
  free(block);
}

// Runs with a limit that leaves room for the block but not for aligning it, and then with one that leaves no room.
static void limited(int resource, const char* name, size_t room) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    char* const before = malloc(large);
    const struct rlimit limit = {room, room};
    if (setrlimit(resource, &limit) != 0) _exit(3);
    errno = 0;
    void* const block = malloc(room);
    if (block != NULL || errno != ENOMEM) _exit(1);
    memset(before, 1, large);
    free(before);
    void* const small = malloc(100);
    _exit(small == NULL);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  printf("%s: %s\n", name, status == 0 ? "refused, and small blocks go on" : "WRONG");
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  large = strtoul(arguments[1], NULL, 10);
  too_much();
  odd_alignments();
  nothing();
  failing_realloc();
  errno_stays();
  grows_and_shrinks();
  limited(RLIMIT_AS, "RLIMIT_AS", (size_t)1 << 30);
  limited(RLIMIT_DATA, "RLIMIT_DATA", (size_t)1 << 28);
  return 0;
}
