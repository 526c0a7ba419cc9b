/* A program that loads Blastoff while its threads make calls that return at once.
 *
 * usage: busy_session LIBRARY */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
void dsymv_(const char*, const int*, const double*, const double*, const int*, const double*, const int*, const double*,
            double*, const int*);

enum { THREADS = 12, CALLS_BEFORE = 20000 };

static atomic_int stop;
static atomic_long calls;

static void* call(void* which) {
  const int none = 0, one = 1;
  const double factor = 1;
  double matrix[4] = {0};
  while (!stop) {
    if (which == NULL)
      dgemm_("N", "N", &none, &none, &none, &factor, matrix, &one, matrix, &one, &factor, matrix, &one);
    else if (which == &stop)
      dgemv_("N", &none, &none, &factor, matrix, &one, matrix, &one, &factor, matrix, &one);
    else
      dsymv_("U", &none, &factor, matrix, &one, matrix, &one, &factor, matrix, &one);
    ++calls;
  }
  return NULL;
}

static void wait_for_calls(long count) {
  for (const long before = calls; calls < before + count;) {
  }
}

int main(int count, char** words) {
  if (count != 2) return 2;
  void* const routines[] = {NULL, &stop, &calls};
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, call, routines[i % 3]);
  wait_for_calls(CALLS_BEFORE);
  void* const blastoff = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  int (*const enable)(void) = blastoff ? (int (*)(void))dlsym(blastoff, "blastoff_enable") : NULL;
  if (enable == NULL) return 3;
  enable();
  wait_for_calls(CALLS_BEFORE);
  stop = 1;
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  puts("all threads have ended");
  return 0;
}
