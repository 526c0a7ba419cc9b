// Many threads that call at the same time. Usage: threads CASE
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "scenario.h"

enum { THREADS = 16 };

#ifdef __SANITIZE_THREAD__  // each access takes many times as long
enum { SIDE = 128, OWN_ROUNDS = 3 };
#else
enum { SIDE = 512, OWN_ROUNDS = 10 };
#endif

static pthread_barrier_t barrier;
static int results[THREADS];

static int run_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (long t = 0; t < THREADS; ++t) {
    if (pthread_create(&threads[t], NULL, body, (void*)t)) abort();
  }
  int right = 1;
  for (int t = 0; t < THREADS; ++t) {
    pthread_join(threads[t], NULL);
    right &= results[t];
  }
  return right;
}

// Each thread owns some rows of every column of one matrix. Its rows share pages, and even cache lines, with those of
// its neighbours.
enum { ROWS = 12, LD = THREADS * ROWS, COLUMNS = 40, INNER = 24, ROUNDS = 12 };
static double *blocks, *left, *right_side;
static double block_beta;

static void* own_rows(void* argument) {
  const long t = (long)argument;
  double* mine = blocks + t * ROWS;
  const double* a = left + t * ROWS;
  int right = 1;
  for (int round = 0; round < ROUNDS; ++round) {
    for (int j = 0; j < COLUMNS; ++j) fill(mine + (size_t)j * LD, ROWS, (unsigned)(t * 1000 + round * 100 + j));
    pthread_barrier_wait(&barrier);
    double before[COLUMNS * LD];
    for (int j = 0; j < COLUMNS; ++j) memcpy(before + j * LD, mine + (size_t)j * LD, ROWS * sizeof(double));
    multiply(ROWS, COLUMNS, INNER, a, LD, right_side, INNER, block_beta, mine, LD);
    pthread_barrier_wait(
        &barrier);  // after it, the neighbours have written their rows back, and must not have spoilt ours
    right &= holds_product(ROWS, COLUMNS, INNER, a, LD, right_side, INNER, block_beta, before, mine, LD);
  }
  results[t] = right;
  return NULL;
}

static void disjoint_rows(void) {
  left = filled((size_t)LD * INNER, 1);
  right_side = filled((size_t)INNER * COLUMNS, 2);
  blocks = filled((size_t)LD * COLUMNS, 3);
  block_beta = 0.0;
  verdict("16 threads, disjoint rows, beta 0", run_threads(own_rows));
  block_beta = 1.0;
  verdict("16 threads, disjoint rows, beta 1", run_threads(own_rows));
}

// One product is divided among threads by columns of B and C. All threads read the same A.
enum { SLICE = 8 };
static double *shared_a, *slices_b, *slices_c;

static void* one_slice(void* argument) {
  const long t = (long)argument;
  const double* b = slices_b + (size_t)t * SIDE * SLICE;
  double* c = slices_c + (size_t)t * SIDE * SLICE;
  pthread_barrier_wait(&barrier);
  multiply(SIDE, SLICE, SIDE, shared_a, SIDE, b, SIDE, 0.0, c, SIDE);
  results[t] = holds_product(SIDE, SLICE, SIDE, shared_a, SIDE, b, SIDE, 0.0, NULL, c, SIDE);
  return NULL;
}

static void one_matrix_for_all(void) {
  shared_a = aligned_alloc(4096, SIDE * SIDE * sizeof(double));
  slices_b = aligned_alloc(4096, THREADS * SIDE * SLICE * sizeof(double));
  slices_c = aligned_alloc(4096, THREADS * SIDE * SLICE * sizeof(double));
  fill(shared_a, SIDE * SIDE, 1);
  fill(slices_b, THREADS * SIDE * SLICE, 2);
  verdict("16 threads reading one A", run_threads(one_slice));
}

static unsigned own_rounds = OWN_ROUNDS;

static void* own_matrices(void* argument) {
  const long t = (long)argument;
  int right = 1;
  for (unsigned round = 0; round < own_rounds; ++round) {
    const int n = 40 + 4 * (int)t;
    double* a = filled((size_t)n * n, round);
    double* b = filled((size_t)n * n, (unsigned)t);
    double* c = filled((size_t)n * n, round + 7);
    right &= multiplies(n, n, n, a, n, b, n, 0.0, c, n);
    right &= multiplies(n, n, n, a, n, c, n, 1.0, b, n);
    free(a);
    free(b);
    free(c);
  }
  results[t] = right;
  return NULL;
}

static void separate_matrices(void) {
  verdict("16 threads, own matrices, allocated and freed", run_threads(own_matrices));
}

static void short_lived(void) {
  int right = 1;
  own_rounds = 2;
  for (int round = 0; round < 8; ++round) right &= run_threads(own_matrices);
  verdict("128 short-lived threads", right);
}

/// Multiplies small matrices on the thread's own stack.
static void* on_the_stack(void* argument) {
  enum { SMALL = 40 };
  double a[SMALL * SMALL], c[SMALL * SMALL];
  const long index = (long)argument;
  int right = 1;
  for (int round = 0; round < 10; ++round) {
    fill(a, SMALL * SMALL, (unsigned)(10 * index + round));
    right &= multiplies(SMALL, SMALL, SMALL, a, SMALL, right_side, SMALL, 0.0, c, SMALL);
  }
  return (void*)(long)right;
}

static void stacks(void) {
  enum { MANY = 300 };
  static pthread_t threads[MANY];
  right_side = filled(40 * 40, 2);
  int right = 1;
  for (long i = 0; i < MANY; ++i)
    if (pthread_create(&threads[i], NULL, on_the_stack, (void*)i)) abort();
  for (int i = 0; i < MANY; ++i) {
    void* result = NULL;
    pthread_join(threads[i], &result);
    right &= result != NULL;
  }
  verdict("matrices on the stacks of many threads", right);
}

// A thread rewrites rows that no call touches, on the pages that the calls use.
static volatile int stop;

static void* scribble(void* argument) {
  (void)argument;
  double* row = blocks + LD - 1;
  long count = 0;
  while (!stop) {
    ++count;
    for (int j = 0; j < COLUMNS; ++j) row[(size_t)j * LD] = (double)count;
  }
  int right = 1;
  for (int j = 0; j < COLUMNS; ++j) right &= row[(size_t)j * LD] == (double)count;
  results[0] = right;
  return NULL;
}

static void neighbour_writes(void) {
  left = filled((size_t)LD * INNER, 1);
  right_side = filled((size_t)INNER * COLUMNS, 2);
  blocks = filled((size_t)LD * COLUMNS, 3);
  pthread_t thread;
  if (pthread_create(&thread, NULL, scribble, NULL)) abort();
  double* before = malloc((size_t)LD * COLUMNS * sizeof(double));
  int right = 1;
  for (int round = 0; round < 100; ++round) {
    for (int j = 0; j < COLUMNS; ++j) memcpy(before + j * LD, blocks + j * LD, (LD - 1) * sizeof(double));
    multiply(LD - 1, COLUMNS, INNER, left, LD, right_side, INNER, round % 2, blocks, LD);
    right &= holds_product(LD - 1, COLUMNS, INNER, left, LD, right_side, INNER, round % 2, before, blocks, LD);
  }
  stop = 1;
  pthread_join(thread, NULL);
  verdict("results beside a thread that writes its own row", right);
  verdict("that thread's row", results[0]);
}

static const struct scenario_case cases[] = {
    {"blocks", disjoint_rows},  {"shared-a", one_matrix_for_all},
    {"own", separate_matrices}, {"short-lived", short_lived},
    {"stacks", stacks},         {"neighbour", neighbour_writes},
};

int main(int argc, char** argv) {
  return run_scenario(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : "");
}
