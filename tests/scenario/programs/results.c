// A result that stays on the device, and those who look at it, or do something to its memory. Usage: results CASE FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

enum { N = 192, K = 24, COUNT = N * N, CALLS = 6 };
static const size_t bytes = COUNT * sizeof(double);
static double *a, *b, *c, *expected;
static const char* path;

static double* mapped(void) {
  double* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return memory;
}

/// Adds the product to the matrix several times, without a look at it, and to what is expected of it.
static void accumulate(double* matrix) {
  for (int call = 0; call < CALLS; ++call) {
    multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < N; ++i)
        for (int l = 0; l < K; ++l) expected[i + j * N] += a[i + l * N] * b[l + j * K];
  }
}

static int right(const double* found) {
  for (size_t i = 0; i < COUNT; ++i)
    if (!(fabs(found[i] - expected[i]) <= 1e-10)) return 0;
  return 1;
}

/// Whether zeros are found, and expects them.
static int zero(const double* found) {
  memset(expected, 0, bytes);
  return right(found);
}

static void* look(void* result) {
  *(int*)result = right(c);
  return NULL;
}

static int by_threads(void) {
  pthread_t threads[4];
  int found[4], all = 1;
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, look, &found[i]);
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    all &= found[i];
  }
  return all;
}

static int by_write(int flags) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | flags, 0600);
  const ssize_t whole = (ssize_t)(bytes / 4096 * 4096);
  if (file < 0 || write(file, c, (size_t)whole) != whole) return 0;
  close(file);
  double* copy = mapped();
  const int plain = open(path, O_RDONLY);
  memcpy(copy, expected, bytes);
  const int all = read(plain, copy, (size_t)whole) == whole && right(copy);
  close(plain);
  return all;
}

/// The kernel writes the file's numbers over the result.
static int by_read(int flags) {
  double* content = mapped();
  fill(content, COUNT, 9);
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (write(file, content, bytes) != (ssize_t)bytes) return 0;
  close(file);
  const int again = open(path, O_RDONLY | flags);
  const size_t part = 8 * 4096;
  if (read(again, c, part) != (ssize_t)part) return 0;
  close(again);
  memcpy(expected, content, part);
  accumulate(c);
  return right(c);
}

static int by_another_process(void) {
  const pid_t parent = getpid();
  int ready[2];
  if (pipe(ready) != 0) return 0;
  const pid_t child = vfork();  // shares the memory, and with it the pages that are filled
  if (child == 0) {
    double first = 0;
    struct iovec local = {&first, sizeof first}, remote = {c, sizeof first};
    _exit(process_vm_readv(parent, &local, 1, &remote, 1, 0) == sizeof first && first == c[0] ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0 && right(c);
}

/// The kernel does not wait for pages on this way: it reads fewer bytes, or none. What it reads is right.
static int by_memory_file(void) {
  double* copy = mapped();
  const int memory = open("/proc/self/mem", O_RDONLY);
  const ssize_t found = pread(memory, copy, bytes, (off_t)(uintptr_t)c);
  close(memory);
  for (ssize_t i = 0; i < found / (ssize_t)sizeof(double); ++i)
    if (!(fabs(copy[i] - expected[i]) <= 1e-10)) return 0;
  return right(c);
}

static int by_child(void) {
  const pid_t child = fork();
  if (child == 0) _exit(right(c) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  accumulate(c);
  return status == 0 && right(c);
}

static int moved(void) {
  double* const target = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mremap(c, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target) != target) return 0;
  c = target;
  const int there = right(c);
  accumulate(c);
  return there && right(c);
}

/// A part of a mapping, which giving up its pages splits in several. They move together.
static double* within_a_mapping(void) {
  char* memory = mmap(NULL, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) abort();
  return (double*)(memory + 64);
}

static int moved_with_its_mapping(void) {
  char* const target = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const memory = (char*)c - 64;
  if (mremap(memory, bytes + 8192, bytes + 8192, MREMAP_MAYMOVE | MREMAP_FIXED, target) != target) return 0;
  c = (double*)(target + 64);
  const int there = right(c);
  accumulate(c);
  return there && right(c);
}

static int dropped(void) {
  if (madvise(c, bytes, MADV_DONTNEED) != 0 || !zero(c)) return 0;
  accumulate(c);
  return right(c);
}

static int mapped_anew(void) {
  if (mmap(c, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != c) return 0;
  if (!zero(c)) return 0;
  accumulate(c);
  return right(c);
}

static int locked(void) {
  if (mlock(c, bytes) != 0) return 1;  // this user may lock less
  const int there = right(c);
  accumulate(c);
  munlock(c, bytes);
  return there && right(c);
}

static int protected_first(void) {
  if (mprotect(c, bytes, PROT_READ) != 0 || !right(c)) return 0;
  mprotect(c, bytes, PROT_READ | PROT_WRITE);
  c[5] += 1;
  expected[5] += 1;
  accumulate(c);
  return right(c);
}

static int written_in_part(void) {
  for (int round = 0; round < 8; ++round) {
    c[round * 700] = round;
    expected[round * 700] = round;
    accumulate(c);
  }
  return right(c);
}

/// The rows above a result in a larger matrix belong to another thread, which counts in them as fast as it can.
enum { ABOVE = 100, ALL_ROWS = ABOVE + N };
static volatile int counting = 1;

static void* count(void* matrix) {
  volatile double* const elements = matrix;
  intptr_t rounds = 0;
  for (; counting; ++rounds)
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < ABOVE; i += 7) elements[i + j * ALL_ROWS] += 1;
  return (void*)rounds;
}

static int beside_a_writer(void) {
  double* const whole =
      mmap(NULL, sizeof(double) * ALL_ROWS * N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t counter;
  pthread_create(&counter, NULL, count, whole);
  memset(expected, 0, bytes);
  for (int call = 0; call < 60; ++call) {
    multiply(N, N, K, a, N, b, K, 1.0, whole + ABOVE, ALL_ROWS);
    if (call % 10 == 0) usleep(1000);
  }
  counting = 0;
  void* rounds = NULL;
  pthread_join(counter, &rounds);
  multiply(N, N, K, a, N, b, K, 0.0, c, N);
  for (int j = 0; j < N; ++j) {
    for (int i = 0; i < N; ++i)
      if (!(fabs(whole[ABOVE + i + j * ALL_ROWS] - 60 * c[i + j * N]) <= 1e-9)) return 0;
    for (int i = 0; i < ABOVE; ++i)
      if (whole[i + j * ALL_ROWS] != (i % 7 == 0 ? (double)(intptr_t)rounds : 0)) return 0;
  }
  return rounds != NULL;
}

static int used_by_small_calls(void) {
  double* const small = filled(16, 3);
  multiply(2, 2, 2, c, N, small, 2, 0.0, small + 8, 2);
  const int product = fabs(small[8] - (expected[0] * small[0] + expected[N] * small[1])) <= 1e-10;
  free(small);
  return product && right(c);
}

/// As daemons do.
static int after_closing_all(void) {
  for (int descriptor = 3; descriptor < 4096; ++descriptor) close(descriptor);
  const int there = right(c);
  accumulate(c);
  return there && right(c);
}

static void at_exit(void) {
  verdict("at exit", right(c));
  if (scenario_status() != 0) _exit(scenario_status());
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  path = argv[2];
  a = filled((size_t)N * K, 1);
  b = filled((size_t)K * N, 2);
  c = !strcmp(argv[1], "move-whole") ? within_a_mapping() : mapped();
  expected = calloc(COUNT, sizeof(double));
  if (!strcmp(argv[1], "exit")) atexit(at_exit);
  accumulate(c);
  const struct {
    const char* name;
    int holds;
  } verdicts[] = {
      {"thread", !strcmp(argv[1], "thread") && by_threads()},
      {"write", !strcmp(argv[1], "write") && by_write(0)},
      {"direct-write", !strcmp(argv[1], "direct-write") && by_write(O_DIRECT)},
      {"read", !strcmp(argv[1], "read") && by_read(0)},
      {"direct-read", !strcmp(argv[1], "direct-read") && by_read(O_DIRECT)},
      {"process", !strcmp(argv[1], "process") && by_another_process()},
      {"memory-file", !strcmp(argv[1], "memory-file") && by_memory_file()},
      {"fork", !strcmp(argv[1], "fork") && by_child()},
      {"move", !strcmp(argv[1], "move") && moved()},
      {"move-whole", !strcmp(argv[1], "move-whole") && moved_with_its_mapping()},
      {"drop", !strcmp(argv[1], "drop") && dropped()},
      {"map", !strcmp(argv[1], "map") && mapped_anew()},
      {"lock", !strcmp(argv[1], "lock") && locked()},
      {"protect", !strcmp(argv[1], "protect") && protected_first()},
      {"part", !strcmp(argv[1], "part") && written_in_part()},
      {"beside", !strcmp(argv[1], "beside") && beside_a_writer()},
      {"small", !strcmp(argv[1], "small") && used_by_small_calls()},
      {"close", !strcmp(argv[1], "close") && after_closing_all()},
      {"exit", 1},
  };
  for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; ++i)
    if (!strcmp(argv[1], verdicts[i].name)) verdict(argv[1], verdicts[i].holds);
  return scenario_status();
}
