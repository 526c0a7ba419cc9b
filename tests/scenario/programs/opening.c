// Makes products until some seconds have passed, while the device is being opened. Usage: opening SECONDS [return |
// exit | _exit | thread | fork | fresh]. The word tells how the program ends; "fork": it forks a child after each
// product; "fresh": it makes new matrices for each product. Some behaviour is set by variables, so that other runs of
// the same command may differ: OPENING_BEFORE is an action before the first product, OPENING_AFTER one after it. The
// action "wait" waits up to OPENING_PATIENCE seconds until the device is open. OPENING_OFFLOADED: the program goes on
// until this number of products have run on the device.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scenario.h"

enum { n = 256 };
static double *a, *b, *c;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The matrices are diagonal, so checking the diagonal is enough.
static int product(double factor) {
  for (int i = 0; i < n; ++i) a[i + i * n] = factor;
  multiply(n, n, n, a, n, b, n, 0.0, c, n);
  for (int i = 0; i < n; ++i)
    if (c[i + i * n] != factor * (i + 1) || c[(i + 1) % n + i * n] != 0) return 0;
  return 1;
}

static double* fresh_matrix(void) {
  return mmap(NULL, n * n * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int product_of_fresh_matrices(double factor) {
  a = fresh_matrix(), b = fresh_matrix(), c = fresh_matrix();
  for (int i = 0; i < n; ++i) b[i + i * n] = i + 1;
  const int right = product(factor);
  munmap(a, n * n * sizeof *a), munmap(b, n * n * sizeof *b), munmap(c, n * n * sizeof *c);
  return right;
}

enum { LONGEST = 200 };  // seconds after which an awaited event counts as missing

/// The number after a key in Blastoff's JSON about this process; `otherwise` if there is none.
static double told(const char* function, const char* key, double otherwise) {
  char* (*const ask)(void) = (char* (*)(void))dlsym(RTLD_DEFAULT, function);
  char* const text = ask ? ask() : NULL;
  const char* const place = text ? strstr(text, key) : NULL;
  double number = otherwise;
  if (place) sscanf(place + strlen(key), "%lf", &number);
  free(text);
  return number;
}

static int has_offloaded(int count) {
  return told("blastoff_counts_json", "\"offloaded\": ", 0) >= count;
}

static void wait_until_open(void) {
  const char* const patience = getenv("OPENING_PATIENCE");
  const double end = now() + (patience ? atof(patience) : LONGEST);
  double after = -1;
  while (after < 0 && now() < end) {
    usleep(10000);
    after = told("blastoff_report_json", "\"after_seconds\": ", -1);
  }
  fprintf(stderr, "device: %s\n", after < 0 ? "closed" : "open");
}

static void fork_a_child(void) {
  const pid_t child = fork();
  if (child == 0) _exit(product(2) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  verdict("child", status == 0);
}

static void do_before(const char* what) {
  usleep(300000);
  if (strcmp(what, "wait") == 0) wait_until_open();
  if (strcmp(what, "fork") == 0) fork_a_child();
  if (strcmp(what, "set a variable") == 0) setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  if (strcmp(what, "end") == 0) exit(0);
  if (strcmp(what, "be killed") == 0) kill(getpid(), SIGKILL);
}

static void* end_in_thread(void* unused) {
  (void)unused;
  exit(scenario_status());
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const char* how = argc > 2 ? argv[2] : "return";
  a = calloc(n * n, sizeof *a);
  b = calloc(n * n, sizeof *b);
  c = calloc(n * n, sizeof *c);
  for (int i = 0; i < n; ++i) b[i + i * n] = i + 1;
  const char* before = getenv("OPENING_BEFORE");
  if (before) do_before(before);
  const char* after = getenv("OPENING_AFTER");
  const char* offloaded = getenv("OPENING_OFFLOADED");
  int right = 1, children_right = 1;
  const double start = now();
  for (int i = 1; offloaded ? !has_offloaded(atoi(offloaded)) && now() - start < LONGEST : now() - start < seconds;
       ++i) {
    right &= strcmp(how, "fresh") == 0 ? product_of_fresh_matrices(i) : product(i);
    if (after && i == 1) wait_until_open();
    if (strcmp(how, "fork") != 0) continue;
    const pid_t child = fork();
    if (child == 0) _exit(product(i + 0.5) ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    children_right &= status == 0;
  }
  verdict("products", right);
  verdict("children", children_right);
  pthread_t thread;
  if (strcmp(how, "_exit") == 0) _exit(scenario_status());
  if (strcmp(how, "exit") == 0) exit(scenario_status());
  if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, end_in_thread, NULL) == 0) pthread_join(thread, NULL);
  return scenario_status();
}
