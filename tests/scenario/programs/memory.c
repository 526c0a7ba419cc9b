// Matrices in memory that is freed, moved or dropped, or that others write. Usage: memory CASE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

#ifndef MATRIX_ORDER
#define MATRIX_ORDER 160
#endif
enum { N = MATRIX_ORDER, COUNT = N * N, BYTES = COUNT * sizeof(double) };  // just above malloc's mmap threshold

static double* map(size_t bytes, int flags) {
  void* address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) abort();
  return address;
}

static double *b, *c;  // the other operands, whose memory stays

static int uses(const double* a) {
  return multiplies(N, N, N, a, N, b, N, 0.0, c, N);
}

static void free_and_allocate(void) {
  int right = 1;
  for (unsigned round = 0; round < 20; ++round) {
    double* a = filled(COUNT, round);
    right &= uses(a);
    free(a);
  }
  verdict("free and allocate again", right);
}

static void free_from_mmap(void) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  free_and_allocate();
}

static void unmap_and_map(void) {
  int right = 1;
  double* a = map(BYTES, MAP_PRIVATE);
  for (unsigned round = 0; round < 10; ++round) {
    fill(a, COUNT, round);
    right &= uses(a);
    munmap(a, BYTES);
    void* again = mmap(a, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (again != a) abort();
    right &= uses(a);  // it holds zeros now
  }
  verdict("munmap and mmap at the same address", right);
}

/// The resident set in kilobytes.
static long resident(void) {
  long all = 0, used = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &used) != 2) abort();
  fclose(file);
  return used * (sysconf(_SC_PAGESIZE) / 1024);
}

static long mappings(void) {
  long lines = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  for (int letter; (letter = getc(file)) != EOF;) lines += letter == '\n';
  fclose(file);
  return lines;
}

/// Each matrix is at a new address, on pages that it fills only in part.
static void fresh_mappings(void) {
  enum { ORDER = 32, ROUNDS = 300, WARM = 60 };
  const size_t step = 4 << 20, bytes = 64 << 10;
  char* place = mmap(NULL, ROUNDS * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) abort();
  int right = 1;
  long memory = 0, lines = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    char* pages =
        mmap(place + round * step, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (pages == MAP_FAILED) abort();
    double* a = (double*)(pages + sizeof(double));
    fill(a, ORDER * ORDER, round);
    for (int twice = 0; twice < 2; ++twice) right &= multiplies(ORDER, ORDER, ORDER, a, ORDER, b, N, 0.0, c, N);
    munmap(place + round * step, step);
    if (round == WARM) {
      memory = resident();
      lines = mappings();
    }
  }
  verdict("fresh mappings", right);
  verdict("memory in use stays", resident() - memory < 12 << 10);
  verdict("mappings stay", mappings() - lines < 100);
}

static void map_over(void) {
  int right = 1;
  double* a = map(BYTES, MAP_PRIVATE);
  for (unsigned round = 0; round < 10; ++round) {
    fill(a, COUNT, round);
    right &= uses(a);
    if (mmap(a, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != a) abort();
    right &= uses(a);
  }
  verdict("mmap over a matrix", right);
}

static void reallocate(void) {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  int right = 1;
  double* a = filled(COUNT, 1);
  for (int columns = N; columns <= 16 * N; columns *= 2) {
    a = realloc(a, (size_t)N * columns * sizeof(double));
    double* in_the_way = malloc(BYTES);  // makes the next realloc move
    right &= uses(a);
    fill(a + (size_t)N * columns - COUNT, COUNT, (unsigned)columns);
    right &= uses(a + (size_t)N * columns - COUNT);
    free(in_the_way);
  }
  a = realloc(a, BYTES);
  right &= uses(a);
  free(a);
  verdict("realloc", right);
}

static void move_mapping(void) {
  int right = 1;
  double* a = map(BYTES, MAP_PRIVATE);
  for (unsigned round = 0; round < 6; ++round) {
    fill(a, COUNT, round);
    right &= uses(a);
    double* target = map(BYTES, MAP_PRIVATE);
    double* moved = mremap(a, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (moved != target) abort();
    right &= uses(moved);
    if (mmap(a, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != a) abort();
    fill(a, COUNT, round + 100);
    right &= uses(a);
    right &= uses(moved);
    munmap(moved, BYTES);
  }
  verdict("mremap", right);
}

/// Each free returns the top of the heap to the kernel, and the next allocation grows the heap again.
static void shrink_heap(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 0);
  int right = 1;
  for (unsigned round = 0; round < 12; ++round) {
    double* a = calloc(COUNT, sizeof(double));
    right &= uses(a);
    fill(a, COUNT, round);
    right &= uses(a);
    free(a);
  }
  verdict("a heap that shrinks and grows", right);
}

static int on_stack(int depth) {
  double a[64 * 64], product[64 * 64];
  fill(a, 64 * 64, (unsigned)depth);
  const int right = multiplies(64, 64, 64, a, 64, b, 64, 0.0, product, 64);
  return depth > 0 ? right && on_stack(depth - 1) : right;
}

static void stack_arrays(void) {
  int right = 1;
  for (int depth = 0; depth < 6; ++depth) right &= on_stack(depth);
  verdict("stack arrays", right);
}

static void* on_small_stack(void* result) {
  double x[32 * 32], y[32 * 32], z[32 * 32];
  int right = 1;
  for (unsigned round = 0; round < 8; ++round) {
    fill(x, 32 * 32, round);
    fill(y, 32 * 32, round + 50);
    right &= multiplies(32, 32, 32, x, 32, y, 32, 0.0, z, 32);
  }
  *(int*)result = right;
  return NULL;
}

static void small_stacks(void) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  int right = 1;
  for (int round = 0; round < 6; ++round) {
    pthread_t thread;
    int result = 0;
    if (pthread_create(&thread, &attributes, on_small_stack, &result)) abort();
    pthread_join(thread, NULL);
    right &= result;
  }
  verdict("arrays on 64 KiB thread stacks", right);
}

static void drop_pages(void) {
  int right = 1;
  double* a = map(BYTES, MAP_PRIVATE);
  for (unsigned round = 0; round < 6; ++round) {
    fill(a, COUNT, round);
    right &= uses(a);
    madvise(a, 4096 * (round + 1), MADV_DONTNEED);  // these pages hold zeros afterwards
    right &= uses(a);
    madvise(a, BYTES, MADV_DONTNEED);
    right &= uses(a);
  }
  verdict("madvise(MADV_DONTNEED)", right);
}

static void read_into(void) {
  char path[] = "/tmp/blastoff-scenario-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  int sockets[2];
  if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) abort();
  double* source = malloc(BYTES);
  double* a = map(BYTES, MAP_PRIVATE);
  int by_read = 1, by_readv = 1, by_recv = 1, by_process = 1;
  for (unsigned round = 0; round < 5; ++round) {
    fill(source, COUNT, round * 10);
    if (pwrite(file, source, BYTES, 0) != BYTES || pread(file, a, BYTES, 0) != BYTES) abort();
    by_read &= uses(a);
    fill(source, COUNT, round * 10 + 1);
    if (pwrite(file, source, BYTES, 0) != BYTES || lseek(file, 0, SEEK_SET)) abort();
    struct iovec halves[2] = {{a, BYTES / 2}, {(char*)a + BYTES / 2, BYTES / 2}};
    if (readv(file, halves, 2) != BYTES) abort();
    by_readv &= uses(a);
    fill(source, 512, round * 10 + 2);
    if (send(sockets[0], source, 4096, 0) != 4096 || recv(sockets[1], a + 100, 4096, MSG_WAITALL) != 4096) abort();
    by_recv &= uses(a);
    fill(source, COUNT, round * 10 + 3);
    struct iovec from = {source, BYTES}, to = {a, BYTES};
    if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != BYTES) memcpy(a, source, BYTES);
    by_process &= uses(a);
  }
  verdict("read(2) into a matrix", by_read);
  verdict("readv(2) into a matrix", by_readv);
  verdict("recv(2) into a matrix", by_recv);
  verdict("process_vm_writev(2) into a matrix", by_process);
}

/// Another process rewrites the matrix between our calls.
static void shared_memory(void) {
  double* a = map(BYTES, MAP_SHARED);
  int ask[2], answer[2];
  if (pipe(ask) || pipe(answer)) abort();
  const pid_t writer = fork();
  if (writer == 0) {
    unsigned char round;
    while (read(ask[0], &round, 1) == 1 && round != 255) {
      fill(a, COUNT, round);
      if (write(answer[1], &round, 1) != 1) _exit(1);
    }
    _exit(0);
  }
  int right = 1;
  for (unsigned char round = 0; round < 10; ++round) {
    if (write(ask[1], &round, 1) != 1 || read(answer[0], &round, 1) != 1) abort();
    right &= uses(a);
  }
  const unsigned char stop = 255;
  if (write(ask[1], &stop, 1) != 1) abort();
  waitpid(writer, NULL, 0);
  verdict("shared memory written by another process", right);
}

static void two_mappings(void) {
  const int file = memfd_create("matrix", 0);
  if (file < 0 || ftruncate(file, BYTES)) abort();
  double* first = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  double* second = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (first == MAP_FAILED || second == MAP_FAILED) abort();
  int right = 1;
  for (unsigned round = 0; round < 6; ++round) {
    fill(second, COUNT, round);
    right &= uses(first);
    multiply(N, N, N, b, N, b, N, 0.0, first, N);  // the result is read through the other mapping
    right &= holds_product(N, N, N, b, N, b, N, 0.0, NULL, second, N);
  }
  verdict("memory mapped twice", right);
}

static void private_file(void) {
  const int file = memfd_create("matrix", 0);
  double* contents = filled(COUNT, 1);
  if (file < 0 || pwrite(file, contents, BYTES, 0) != BYTES) abort();
  double* a = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (a == MAP_FAILED) abort();
  int right = uses(a);
  for (unsigned round = 2; round < 8; ++round) {
    fill(contents, COUNT, round);
    if (pwrite(file, contents, BYTES, 0) != BYTES) abort();  // appears in pages that are not yet private copies
    right &= uses(a);
    a[round * 700] = round;
    right &= uses(a);
  }
  verdict("a private file mapping", right);
}

static double initialised[COUNT] = {1.0, 2.0, 3.0};
static double zeroed[COUNT];

static void static_arrays(void) {
  int right = uses(initialised) && uses(zeroed);
  for (unsigned round = 0; round < 6; ++round) {
    fill(initialised, COUNT, round);
    right &= uses(initialised);
    zeroed[round * 1000] = round;
    right &= uses(zeroed);
    right &= multiplies(N, N, N, initialised, N, b, N, 1.0, zeroed, N);
  }
  verdict("static arrays", right);
}

static void refilled_buffer(void) {
  enum { SMALL = 96 };
  double* a = malloc(BYTES);
  int right = 1;
  for (unsigned round = 0; round < 400; ++round) {
    fill(a, SMALL * SMALL, round);
    right &= multiplies(SMALL, SMALL, SMALL, a, SMALL, b, SMALL, 0.0, c, SMALL);
  }
  free(a);
  verdict("a buffer refilled hundreds of times", right);
}

/// The matrix ends at the end of the mapping, and memory of others lies between its columns.
static void guard_page(void) {
  enum { M = 100, LD = N, COLUMNS = N - 10 };
  const size_t span = ((size_t)(COLUMNS - 1) * LD + M) * sizeof(double);
  const size_t pages = (span + 4095) / 4096 * 4096;
  char* mapping = (char*)map(pages + 4096, MAP_PRIVATE);
  mprotect(mapping + pages, 4096, PROT_NONE);
  double* result = (double*)(mapping + pages - span);
  for (size_t i = 0; i < span / sizeof(double); ++i) result[i] = 7.0;
  int right = 1;
  for (int round = 0; round < 4; ++round) {
    right &= multiplies(M, COLUMNS, N, b, N, b, N, round % 2, result, LD);
    right &= multiplies(M, N, COLUMNS, result, LD, b, N, 0.0, c, N);
    for (int j = 0; j + 1 < COLUMNS; ++j) {
      for (int i = M; i < LD; ++i) right &= result[(size_t)j * LD + i] == 7.0 + round;
    }
    for (int j = 0; j + 1 < COLUMNS; ++j) {
      for (int i = M; i < LD; ++i) result[(size_t)j * LD + i] += 1.0;
    }
  }
  verdict("a matrix that ends at the end of its mapping", right);
}

static const double constant[64 * 64] = {[0] = 1.0, [65] = 2.0, [4000] = 3.0};

static void read_only(void) {
  double* a = map(BYTES, MAP_PRIVATE);
  int right = 1;
  for (unsigned round = 0; round < 4; ++round) {
    mprotect(a, BYTES, PROT_READ | PROT_WRITE);
    fill(a, COUNT, round);
    mprotect(a, BYTES, PROT_READ);
    right &= uses(a);
    right &= multiplies(64, 64, 64, constant, 64, b, 64, 0.0, c, 64);
  }
  verdict("read-only operands", right);
}

static void huge_pages(void) {
  enum { M = 512 };
  double* a = aligned_alloc(2 << 20, 4 << 20);
  if (!a) abort();
  madvise(a, 4 << 20, MADV_HUGEPAGE);
  fill(a, M * M, 1);
  int right = 1;
  for (int round = 0; round < 6; ++round) {
    right &= multiplies(M, 8, M, a, M, b, M, 0.0, c, M);
    a[(size_t)round * 40000] += 1.0;
  }
  free(a);
  verdict("huge pages", right);
}

// A direct read writes to the pages that it found at its beginning, without using the page table. It reads into a
// matrix whose last page is shared with another matrix, which is multiplied at the same time.
enum { ORDER = 64, SHARED = ORDER * ORDER * sizeof(double), AHEAD = 1 << 20 };
static char* read_to;
static int read_from[2];
static pthread_barrier_t read_barrier;
static _Atomic int reading;

static void* read_directly(void* rounds) {
  for (int round = 0; round < *(int*)rounds; ++round) {
    pthread_barrier_wait(&read_barrier);
    if (pread(read_from[round % 2], read_to, AHEAD + SHARED, 0) != AHEAD + SHARED) abort();
    reading = 0;
    pthread_barrier_wait(&read_barrier);
  }
  return NULL;
}

static int file_of(const char* name, unsigned seed) {
  double* content = filled((AHEAD + SHARED) / sizeof(double), seed);
  const int file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);
  if (file < 0 || write(file, content, AHEAD + SHARED) != AHEAD + SHARED || fsync(file)) abort();
  const int direct =
      open(name, O_RDONLY | O_DIRECT);  // not every file system supports it, but results must be right either way
  unlink(name);
  free(content);
  return direct >= 0 ? direct : file;
}

static void direct_read(void) {
  int rounds = 40;
  char name[64];
  for (int i = 0; i < 2; ++i) {
    snprintf(name, sizeof name, "direct-read-%d-%d", (int)getpid(), i);
    read_from[i] = file_of(name, (unsigned)i);
  }
  read_to = (char*)map(AHEAD + 3 * SHARED, MAP_PRIVATE) + 512;
  const double* came = (double*)(read_to + AHEAD);
  double* beside = (double*)(read_to + AHEAD + SHARED);
  fill(beside, ORDER * ORDER, 5);
  pthread_barrier_init(&read_barrier, NULL, 2);
  pthread_t reader;
  if (pthread_create(&reader, NULL, read_directly, &rounds)) abort();
  int right = 1;
  for (int round = 0; round < rounds; ++round) {
    reading = 1;
    pthread_barrier_wait(&read_barrier);
    do right &= multiplies(ORDER, ORDER, ORDER, beside, ORDER, b, ORDER, 0.0, c, ORDER);
    while (reading);
    pthread_barrier_wait(&read_barrier);
    right &= multiplies(ORDER, ORDER, ORDER, came, ORDER, b, ORDER, 0.0, c, ORDER);
  }
  pthread_join(reader, NULL);
  verdict("read directly beside a matrix in use", right);
}

/// Another process writes a matrix. Its last page is shared with another matrix, which is multiplied at the same time.
static void remote_neighbour(void) {
  enum { TIMES = 200 };
  char* memory = (char*)map(1 << 20, MAP_PRIVATE) + 2048;
  double* came = (double*)memory;
  double* beside = (double*)(memory + SHARED);
  fill(beside, ORDER * ORDER, 5);
  _Atomic int* asked = (_Atomic int*)map(4096, MAP_SHARED);
  _Atomic int* done = asked + 1;
  const pid_t program = getpid();
  const pid_t child = fork();
  if (child == 0) {
    for (int time = 1; time <= TIMES; ++time) {
      while (*asked != time) sched_yield();
      double* content = filled(ORDER * ORDER, (unsigned)time);
      struct iovec from = {content, SHARED}, to = {came, SHARED};
      if (process_vm_writev(program, &from, 1, &to, 1, 0) != SHARED) _exit(1);
      free(content);
      *done = time;
    }
    _exit(0);
  }
  int right = child > 0;
  for (int time = 1; time <= TIMES && right; ++time) {
    *asked = time;
    do right &= multiplies(ORDER, ORDER, ORDER, beside, ORDER, b, ORDER, 0.0, c, ORDER);
    while (*done != time && right);
    right &= multiplies(ORDER, ORDER, ORDER, came, ORDER, b, ORDER, 0.0, c, ORDER);
  }
  if (!right) kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  verdict("written by another process beside a matrix in use", right);
}

static void columns_far_apart(void) {
  enum { LD = 600000, FEW = 24 };
  double* a = map(sizeof(double) * LD * FEW, MAP_PRIVATE | MAP_NORESERVE);
  int right = 1;
  for (unsigned round = 0; round < 3; ++round) {
    for (int j = 0; j < FEW; ++j) fill(a + (size_t)j * LD, FEW, round + (unsigned)j);
    right &= multiplies(FEW, FEW, FEW, a, LD, b, FEW, 0.0, c, FEW);
    right &= multiplies(FEW, FEW, FEW, b, FEW, c, FEW, 1.0, a + 100, LD);
  }
  munmap(a, sizeof(double) * LD * FEW);
  verdict("columns far apart", right);
}

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// A result that is on the device is used in a product that is too flat for the device.
static void left_to_cpu(void) {
  enum { LARGE = 700, DEEP = 64, FLAT = 8, PAGES = LARGE * LARGE * sizeof(double) / 4096 };
  double* a = filled(LARGE * DEEP, 3);
  double* deep = filled(DEEP * LARGE, 4);
  double* result = filled(LARGE * LARGE, 5);
  double* before = filled(LARGE * LARGE, 6);
  int right = 1;
  long faults = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2; ++i) right &= multiplies(LARGE, LARGE, DEEP, a, LARGE, deep, DEEP, 1.0, result, LARGE);
    memcpy(before, result, sizeof(double) * LARGE * LARGE);
    const long faults_before = page_faults();
    multiply(LARGE, LARGE, FLAT, a, LARGE, deep, DEEP, 1.0, result, LARGE);
    faults += page_faults() - faults_before;
    right &= holds_product(LARGE, LARGE, FLAT, a, LARGE, deep, DEEP, 1.0, before, result, LARGE);
  }
  verdict("flat products in between", right);
  verdict("hardly any page faults", faults < PAGES / 4);
}

static const struct scenario_case cases[] = {
    {"free", free_and_allocate},
    {"free-mmap", free_from_mmap},
    {"munmap", unmap_and_map},
    {"fresh-mappings", fresh_mappings},
    {"map-over", map_over},
    {"realloc", reallocate},
    {"mremap", move_mapping},
    {"heap", shrink_heap},
    {"stack", stack_arrays},
    {"small-stack", small_stacks},
    {"madvise", drop_pages},
    {"read", read_into},
    {"shared", shared_memory},
    {"two-mappings", two_mappings},
    {"private-file", private_file},
    {"static", static_arrays},
    {"refill", refilled_buffer},
    {"guard", guard_page},
    {"read-only", read_only},
    {"huge", huge_pages},
    {"direct-read", direct_read},
    {"remote-neighbour", remote_neighbour},
    {"far-columns", columns_far_apart},
    {"left-to-cpu", left_to_cpu},
};

int main(int argc, char** argv) {
  b = filled(8 * COUNT, 1000);
  c = filled(COUNT, 1001);
  return run_scenario(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : "");
}
