// Products by one thread, by several threads at once, and by forked children at once.
// Usage: wall_time threads|children NUMBER ROUNDS SIZE
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

static pthread_barrier_t* barrier;
static int rounds, size;

/// All threads begin each product together.
static void* products(void* unused) {
  (void)unused;
  const size_t count = (size_t)size * size;
  double *a = filled(count, 1), *b = filled(count, 2), *c = filled(count, 3);
  for (int round = 0; round < rounds; ++round) {
    pthread_barrier_wait(barrier);
    multiply(size, size, size, a, size, b, size, 0.0, c, size);
  }
  pthread_barrier_wait(barrier);
  free(a);
  free(b);
  free(c);
  return NULL;
}

static void by_threads(int number) {
  pthread_t threads[64];
  for (int t = 0; t < number; ++t)
    if (pthread_create(&threads[t], NULL, products, NULL)) abort();
  for (int t = 0; t < number; ++t) pthread_join(threads[t], NULL);
}

static int by_children(int number) {
  for (int child = 0; child < number; ++child) {
    if (fork() != 0) continue;
    products(NULL);
    exit(0);
  }
  int right = 1, status = 0;
  for (int child = 0; child < number; ++child) right &= wait(&status) > 0 && status == 0;
  return right;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int number = atoi(argv[2]);
  rounds = atoi(argv[3]);
  size = atoi(argv[4]);
  barrier = mmap(NULL, sizeof *barrier, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (barrier == MAP_FAILED) return 1;
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(barrier, &shared, (unsigned)number);
  if (argv[1][0] == 't')
    by_threads(number);
  else
    verdict("children", by_children(number));
  return scenario_status();
}
