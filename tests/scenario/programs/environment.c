// State that must survive a call: errno, rounding, signals, descriptors. Usage: environment CASE
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "scenario.h"

enum { N = 96, COUNT = N * N };
static double *a, *b, *c;

/// Whether a product is right and errno is unchanged. System calls that fail or are interrupted inside the call must
/// not show.
static int computes(void) {
  a[5] += 1.0;
  errno = 1234;
  return multiplies(N, N, N, a, N, b, N, 0.5, c, N) && errno == 1234;
}

static void errno_and_rounding(void) {
  feclearexcept(FE_ALL_EXCEPT);
  errno = 1234;
  multiply(N, N, N, a, N, b, N, 0.0, c, N);  // opens the device
  verdict("errno and exception flags after the first call",
          errno == 1234 && !fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW));
  int kept = 1, rounding = 1, exceptions = 1;
  const int modes[] = {FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST};
  for (int i = 0; i < 3; ++i) {
    a[i] += 1.0;
    fesetround(modes[i]);
    feclearexcept(FE_ALL_EXCEPT);
    errno = 1234;
    multiply(N, N, N, a, N, b, N, 0.0, c, N);
    kept &= errno == 1234;
    rounding &= fegetround() == modes[i];
    exceptions &= !fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  }
  fesetround(FE_TONEAREST);
  verdict("errno", kept);
  verdict("rounding mode", rounding);
  verdict("no exception flags of ours", exceptions);
  sigset_t before, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  sigprocmask(SIG_SETMASK, &before, NULL);
  const int right = computes();
  sigprocmask(SIG_SETMASK, NULL, &after);
  int same = 1;
  for (int s = 1; s < 64; ++s) same &= sigismember(&before, s) == sigismember(&after, s);
  verdict("signal mask", right && same);
}

/// Computes a lower and an upper bound of the same product, as in interval arithmetic.
static void bounds(void) {
  double* const above = filled(COUNT, 4);
  for (int i = 0; i < COUNT; ++i) a[i] = fabs(a[i]) + 0.1, b[i] = fabs(b[i]) + 0.1;
  int apart = 1;
  fesetround(FE_DOWNWARD);
  multiply(N, N, N, a, N, b, N, 0.0, c, N);
  fesetround(FE_UPWARD);
  multiply(N, N, N, a, N, b, N, 0.0, above, N);
  fesetround(FE_TONEAREST);
  for (int i = 0; i < COUNT; ++i) apart &= c[i] < above[i];
  verdict("bounds by fesetround", apart);
#ifdef __SSE2__
  apart = 1;
  _MM_SET_ROUNDING_MODE(_MM_ROUND_DOWN);
  multiply(N, N, N, a, N, b, N, 0.0, c, N);
  _MM_SET_ROUNDING_MODE(_MM_ROUND_NEAREST);
  multiply(N, N, N, a, N, b, N, 0.0, above, N);
  int less = 0;
  for (int i = 0; i < COUNT; ++i) apart &= c[i] <= above[i], less += c[i] < above[i];
  apart &= less > COUNT / 2;
#endif
  verdict("bounds by the register alone", apart);
  free(above);
}

/// Calls of empty matrices leave no flags, and no call ends a program that traps exceptions, as compilers offer it.
static void exceptions(void) {
  const int trapped = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  feclearexcept(FE_ALL_EXCEPT);
  for (int empty = 0; empty < 3; ++empty)
    multiply(empty == 0 ? 0 : N, empty == 1 ? 0 : N, empty == 2 ? 0 : N, a, N, b, N, 1.0, c, N);
  verdict("no flags of empty matrices", !fetestexcept(trapped));
  feenableexcept(trapped);
  for (int empty = 0; empty < 3; ++empty)
    multiply(empty == 0 ? 0 : N, empty == 1 ? 0 : N, empty == 2 ? 0 : N, a, N, b, N, 1.0, c, N);
  verdict("traps", computes() && fegetexcept() == trapped);
}

static volatile sig_atomic_t alarms, profiled;
static pid_t main_thread;
static volatile sig_atomic_t elsewhere;

static void on_signal(int number) {
  if (number == SIGALRM)
    ++alarms;
  else
    ++profiled;
  if (gettid() != main_thread) elsewhere = 1;
}

static void timers(void) {
  main_thread = gettid();
  struct sigaction action = {.sa_handler = on_signal};  // no SA_RESTART: system calls are interrupted
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGPROF, &action, NULL);
  const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  setitimer(ITIMER_PROF, &often, NULL);
  int right = 1;
  for (int round = 0; round < 300 || alarms < 20; ++round) right &= computes();
  setitimer(ITIMER_REAL, &never, NULL);
  setitimer(ITIMER_PROF, &never, NULL);
  verdict("products under SIGALRM and SIGPROF", right);
  verdict("the signals reached the program's own thread", !elsewhere);
}

/// Number of entries of a directory below /proc/self, without ".", ".." and the reader itself.
static int entries(const char* path) {
  DIR* directory = opendir(path);
  if (!directory) abort();
  int count = -2;
  while (readdir(directory)) ++count;
  closedir(directory);
  return count;
}

static void idle(void) {
  printf("threads %d, descriptors %d\n", entries("/proc/self/task"), entries("/proc/self/fd"));
}

static void closed_descriptors(void) {
  verdict("before", computes());
  close_range(3, ~0U, 0);
  int files[8];
  for (int i = 0; i < 8; ++i) files[i] = open("/dev/zero", O_RDWR);  // these files take the freed numbers
  int right = 1;
  for (int round = 0; round < 5; ++round) {
    double* fresh = filled(4 * COUNT, (unsigned)round);
    right &= computes() && multiplies(N, N, N, fresh, N, b, N, 0.0, c, N);
    free(fresh);
  }
  for (int i = 0; i < 8; ++i) right &= fcntl(files[i], F_GETFD) >= 0;
  verdict("after all descriptors were closed", right);
}

static void limit(int what, rlim_t value) {
  const struct rlimit limits = {value, value};
  if (setrlimit(what, &limits)) abort();
}

static void* big(void) {
  return filled(512 * 512, 4);
}

static void under_limit(void) {
  double* x = big();
  double* y = malloc(512 * 512 * sizeof(double));
  if (!x || !y) abort();
  int right = 1;
  for (int round = 0; round < 4; ++round) {
    right &= computes();
    x[round] += 1.0;
    right &= multiplies(512, 8, 512, x, 512, b, 512, 0.0, y, 512);
  }
  verdict("products under the limit", right);
}

static unsigned long mapped_bytes(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%lu", &pages) != 1) abort();
  fclose(file);
  return pages * 4096;
}

/// A program that starts with stderr closed gets descriptor 2 for the first file that it opens.
static void a_file_where_stderr_was(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file != 2) abort();
  verdict("products", computes() && computes());
  if (write(file, "mine\n", 5) != 5) abort();
}

/// After the device was used, no further memory can be mapped.
static void exhausted(void) {
  verdict("before", computes());
  limit(RLIMIT_AS, 1UL << 20);
  int right = 1;
  for (int round = 0; round < 4; ++round) {
    a[round] += 1.0;
    multiply(N, N, N, a, N, b, N, 0.0, c, N);
    for (int i = 0; i < N; ++i) {
      double sum = 0;
      for (int l = 0; l < N; ++l) sum += a[i + (size_t)l * N] * b[l];
      right &= fabs(c[i] - sum) < 1e-9;
    }
  }
  verdict("without any address space left", right);
}

int main(int argc, char** argv) {
  const int errno_at_begin = errno;
  const char* name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "idle")) {
    idle();
    return 0;
  }
  a = filled(COUNT, 1);
  b = filled(512 * 8 > COUNT ? 512 * 8 : COUNT, 2);
  c = filled(COUNT, 3);
  if (!strcmp(name, "errno")) {
    verdict("errno when main() begins", errno_at_begin == 0);
    errno_and_rounding();
  } else if (!strcmp(name, "exceptions"))
    exceptions();
  else if (!strcmp(name, "bounds"))
    bounds();
  else if (!strcmp(name, "timers"))
    timers();
  else if (!strcmp(name, "closed-descriptors"))
    closed_descriptors();
  else if (!strcmp(name, "file-as-stderr") && argc > 2)
    a_file_where_stderr_was(argv[2]);
  else if (!strcmp(name, "exhausted"))
    exhausted();
  else {
    if (!strcmp(name, "memory-limit"))
      limit(RLIMIT_AS, mapped_bytes() + (64UL << 20));
    else if (!strcmp(name, "roomy-memory-limit"))
      limit(RLIMIT_AS, mapped_bytes() + (4UL << 30));
    else if (!strcmp(name, "descriptor-limit"))
      limit(RLIMIT_NOFILE, 3);
    else if (!strcmp(name, "thread-limit")) {
      limit(RLIMIT_NPROC, 1);
      if (getuid() == 0 && setuid(65534)) abort();  // the limit does not apply to root
    } else
      return 99;
    under_limit();
  }
  return scenario_status();
}
