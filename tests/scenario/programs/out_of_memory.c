// Makes allocations fail, one after the other (as SQLite's tests do): out_of_memory KIND WHEN [STEP [WHAT]]
// KIND: gemm|large|syrk|gemv|potrf|dft|library (a product by a library that is loaded for it). WHEN: "warm", in a
// process that has made such calls before, or "first". STEP: beyond the first few allocations, only each STEP-th one
// fails. For each number, makes a call during which that allocation fails, and then one during which it and all later
// ones fail. Their results must be right, and so must that of the next call. WHAT fails: "allocations", "threads" that
// are to be started, or "space", where the number is the pieces of address space that are left.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

#ifdef WITH_FFTW
#include <fftw3.h>
#endif

void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*,
            double*, const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
#ifdef WITH_LAPACK
void dpotrf_(const char*, const int*, double*, const int*, int*);
#endif

// The program's own allocator, which precedes the C library's. It fails where it is told to, on all threads.
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_long seen = 0;
static atomic_long failing = 0;  // number of the failing allocation, counted from 1; 0: none
static atomic_int all_after = 0;
static atomic_int armed = 0;

static enum { allocations, threads, space } what = allocations;

static int fails(int of) {
  if (!armed || of != (int)what) return 0;
  const long number = ++seen;
  if (failing == 0 || number < failing || (number > failing && !all_after)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) {
  return fails(allocations) ? NULL : __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  return fails(allocations) ? NULL : __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  return fails(allocations) ? NULL : __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return fails(allocations) ? NULL : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  void* const got = memalign(alignment, bytes);
  if (got == NULL) return ENOMEM;
  *memory = got;
  return 0;
}
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  return fails(allocations) ? MAP_FAILED : (void*)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (fails(threads)) return EAGAIN;
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  void* const found = dlsym(RTLD_NEXT, "pthread_create");
  memcpy(&create, &found, sizeof create);
  return create(thread, attributes, body, argument);
}

enum { piece = 1 << 18, pieces = 2400 };

// Limits the address space to the present one plus this number of pieces; -1: removes the limit.
static void leave(long number) {
  struct rlimit limit;
  unsigned long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &limit) != 0) abort();
  fclose(file);
  limit.rlim_cur = number < 0 ? limit.rlim_max : pages * 4096 + (rlim_t)number * piece;
  if (setrlimit(RLIMIT_AS, &limit) != 0) abort();
}

// The kinds of calls. Each updates `result`, which starts as a copy of `before`.
enum { most = 1 << 17 };
static int order = 64;
static size_t used;  // number of used elements of each array
static double left[most], before[most], result[most], expected[most];

static void gemm(void) {
  multiply(order, order, order, left, order, left, order, 1, result, order);
}
static void syrk(void) {
  const double one = 1;
  dsyrk_("L", "N", &order, &order, &one, left, &order, &one, result, &order);
}
static void gemv(void) {
  const double one = 1;
  const int increment = 1;
  dgemv_("N", &order, &order, &one, left, &order, left, &increment, &one, result, &increment);
}
#ifdef WITH_LAPACK
static void potrf(void) {
  int info = -1;
  dpotrf_("L", &order, result, &order, &info);
  if (info != 0) abort();
}
#endif
#ifdef WITH_FFTW
static fftw_plan plan;
static void dft(void) {
  fftw_execute(plan);
}
#endif

/// A product by a library that is loaded for it from the path in LATE_LIBRARY. Without it, the usual library computes.
static void library(void) {
  void* const loaded = dlopen(getenv("LATE_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  void (*product)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                  const int*, const double*, const int*, const double*, double*, const int*) = dgemm_;
  void* const found = loaded ? dlsym(loaded, "dgemm_") : NULL;
  if (found) memcpy(&product, &found, sizeof product);
  const double one = 1;
  product("N", "N", &order, &order, &order, &one, left, &order, left, &order, &one, result, &order);
  if (loaded) dlclose(loaded);
}

/// Switches Blastoff off and on again before the call, if Blastoff is loaded.
static void switched(void) {
  void (*off)(void);
  int (*on)(void);
  void *const found_off = dlsym(RTLD_DEFAULT, "blastoff_disable"), *const found_on =
                                                                       dlsym(RTLD_DEFAULT, "blastoff_enable");
  memcpy(&off, &found_off, sizeof off);
  memcpy(&on, &found_on, sizeof on);
  if (off && on) off(), on();
  gemm();
}

static void (*call)(void) = gemm;

static int choose(const char* kind) {
  int large = strcmp(kind, "large") == 0;
  if (large) order = 256;
  used = 2 * (size_t)order * order;
  for (int i = 0; i < order * order; ++i) left[i] = i % 7, before[i] = i % 5;
  if (strcmp(kind, "syrk") == 0) call = syrk;
  if (strcmp(kind, "gemv") == 0) call = gemv;
  if (strcmp(kind, "library") == 0) call = library;
  if (strcmp(kind, "switched") == 0) call = switched;
#ifdef WITH_LAPACK
  if (strcmp(kind, "potrf") == 0) call = potrf;
  if (call == potrf)
    for (int i = 0; i < order; ++i) before[i + i * order] = 8 * order;
#endif
#ifdef WITH_FFTW
  if (strcmp(kind, "dft") == 0) {
    plan = fftw_plan_dft_2d(order, order, (fftw_complex*)result, (fftw_complex*)result, FFTW_FORWARD, FFTW_ESTIMATE);
    call = dft;
  }
#endif
  return call != gemm || large || strcmp(kind, "gemm") == 0;
}

static int calls_rightly(void) {
  memcpy(result, before, used * sizeof *result);
  call();
  for (size_t i = 0; i < used; ++i)
    if (!(fabs(result[i] - expected[i]) <= 1e-11 * (fabs(expected[i]) + order))) return 0;
  return 1;
}

// Whether the result is right. Sets *reached to whether there were that many allocations.
static int right_without(long number, int persistent, int* reached) {
  memcpy(result, before, used * sizeof *result);
  failing = number;
  all_after = persistent;
  seen = 0;
  if (what == space) leave(number - 1);
  armed = 1;
  call();
  armed = 0;
  if (what == space) leave(-1);
  *reached = what == space ? number < pieces : seen >= number;
  int right = 1;
  for (size_t i = 0; i < used; ++i) right &= fabs(result[i] - expected[i]) <= 1e-11 * (fabs(expected[i]) + order);
  return right && calls_rightly();
}

// Number of offloaded calls until now; -1 without Blastoff.
static long offloaded(void) {
  char* (*counts)(void) = (char* (*)(void))dlsym(RTLD_DEFAULT, "blastoff_counts_json");
  char* const text = counts == NULL ? NULL : counts();
  const char* const at = text == NULL ? NULL : strstr(text, "\"offloaded\":");
  const long number = at == NULL ? -1 : atol(at + strlen("\"offloaded\":"));
  free(text);
  return number;
}

// Makes the call in a child that has made no call before. Returns 0 if the result is right and there were fewer
// allocations than `number`.
enum { was_reached = 1, is_wrong = 2, stays_on_cpu = 3, enough = 20 };
static int first_call(long number, int persistent) {
  const pid_t child = fork();
  if (child == 0) {
    int reached = 0;
    const int right = right_without(number, persistent, &reached);
    if (!right) _exit(is_wrong);
    for (int i = 0; i < 3; ++i) call();
    // With little address space, no device is opened.
    const char* const device = getenv("BLASTOFF_DEVICE");
    const int has_device = what != space && !(device && strcmp(device, "none") == 0);
    if (has_device && offloaded() == 0) _exit(stays_on_cpu);
    _exit(reached ? was_reached : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char** words) {
  if (count < 3 || !choose(words[1])) return 99;
  const int first = strcmp(words[2], "first") == 0;
  const long step = count > 3 ? atol(words[3]) : 1;
  if (count > 4)
    what = strcmp(words[4], "threads") == 0 ? threads : strcmp(words[4], "space") == 0 ? space : allocations;
  // A child computes the right result, since this process must not have made a call yet.
  int pipes[2];
  if (pipe(pipes) != 0) return 98;
  if (fork() == 0) {
    memcpy(result, before, used * sizeof *result);
    call();
    for (size_t at = 0; at < sizeof result;) at += (size_t)write(pipes[1], (char*)result + at, sizeof result - at);
    _exit(0);
  }
  for (size_t at = 0; at < sizeof expected;) at += (size_t)read(pipes[0], (char*)expected + at, sizeof expected - at);
  wait(NULL);

  int wrong = 0;
  for (int persistent = 0; persistent <= 1; ++persistent) {
    if (!first)
      for (int i = 0; i < 12; ++i)
        if (!calls_rightly()) verdict("a call before", 0);
    int reached = 1;
    for (long number = 1; reached && wrong < enough; number += number < 8 ? 1 : step) {
      int right = 1;
      if (first) {
        const int status = first_call(number, persistent);
        right = status <= was_reached;
        reached = status != 0;
        if (!right) fprintf(stderr, "status %d\n", status);
      } else {
        right = right_without(number, persistent, &reached);
      }
      if (!right) fprintf(stderr, "allocation %ld%s\n", number, persistent ? " and all after it" : "");
      wrong += !right;
    }
  }
  verdict(words[1], wrong == 0);
  return scenario_status();
}
