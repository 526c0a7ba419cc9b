// A result that stays on the device, and those who look at it, or do something to its memory. Usage: results CASE FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results.h"

static const char* path;  ///< a file that the program may write

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
    if (!is_right(copy[i], (size_t)i)) return 0;
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
  return right_now_and_later();
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
  return right_now_and_later();
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
  double* const whole = mapped_doubles((size_t)ALL_ROWS * N);
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
  return right_now_and_later();
}

static void at_exit(void) {
  verdict("at exit", right(c));
  if (scenario_status() != 0) _exit(scenario_status());
}

/// Its verdict is that of the exit handler.
static int at_the_end(void) {
  return 1;
}

static int by_buffered_write(void) {
  return by_write(0);
}
static int by_direct_write(void) {
  return by_write(O_DIRECT);
}
static int by_buffered_read(void) {
  return by_read(0);
}
static int by_direct_read(void) {
  return by_read(O_DIRECT);
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  path = argv[2];
  if (!strcmp(argv[1], "exit")) atexit(at_exit);
  prepare(!strcmp(argv[1], "move-whole") ? within_a_mapping() : mapped());
  accumulate(c);
  const struct result_case cases[] = {
      {"thread", by_threads},
      {"write", by_buffered_write},
      {"direct-write", by_direct_write},
      {"read", by_buffered_read},
      {"direct-read", by_direct_read},
      {"process", by_another_process},
      {"memory-file", by_memory_file},
      {"fork", by_child},
      {"move", moved},
      {"move-whole", moved_with_its_mapping},
      {"drop", dropped},
      {"map", mapped_anew},
      {"lock", locked},
      {"protect", protected_first},
      {"part", written_in_part},
      {"beside", beside_a_writer},
      {"small", used_by_small_calls},
      {"close", after_closing_all},
      {"exit", at_the_end},
  };
  return run_case(cases, sizeof cases / sizeof cases[0], argv[1]);
}
