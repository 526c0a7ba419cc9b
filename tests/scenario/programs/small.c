// Millions of calls below the threshold, from several threads. Usage: small CALLS_PER_THREAD THREADS
#include <pthread.h>

#include "scenario.h"

static int calls;

static void* many(void* argument) {
  double a[64], b[64], c[64];
  fill(a, 64, 1);
  fill(b, 64, 2);
  for (int i = 0; i < calls; ++i) multiply(8, 8, 8, a, 8, b, 8, 0.0, c, 8);
  *(int*)argument = holds_product(8, 8, 8, a, 8, b, 8, 0.0, NULL, c, 8);
  return NULL;
}

int main(int argc, char** argv) {
  enum { MOST = 64 };
  calls = argc > 1 ? atoi(argv[1]) : 1000;
  const int threads = argc > 2 ? atoi(argv[2]) : 1;
  if (threads > MOST) return 99;
  pthread_t handles[MOST];
  int results[MOST], right = 1;
  for (int t = 0; t < threads; ++t) pthread_create(&handles[t], NULL, many, &results[t]);
  for (int t = 0; t < threads; ++t) {
    pthread_join(handles[t], NULL);
    right &= results[t];
  }
  verdict("small products", right);
  return scenario_status();
}
