/* Several threads that call BLAS on separate matrices, or on one A, as in an OpenMP program.
 *
 *   threads_gemm [--threads T] [--calls N] [--minimum N] [--seconds S] [--shared-a] OPERATION
 *
 * Each thread first makes --minimum calls, whose results give the checksum. Then all start together, and each calls
 * until it has made --calls calls or --seconds have passed. Between calls it reads one element of its result and
 * changes one of A, unless the threads share it. Prints one JSON line; `rate` is calls per second of all threads
 * together. */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "operation.h"

struct Shared {
  struct Operation operation;
  size_t calls, minimum;
  double seconds;
  int share_a;
  struct Numbers a; /* of all threads */
  pthread_barrier_t barrier;
};

struct Worker {
  pthread_t thread;
  struct Shared* shared;
  uint64_t seed;
  struct Checksum checksum;
  size_t calls;
  double started, ended, read_back;
};

static void* work(void* argument) {
  struct Worker* worker = argument;
  struct Shared* shared = worker->shared;
  struct Operands operands = create_operands(&shared->operation, worker->seed);
  const struct Numbers own = operands.a;
  if (shared->share_a) operands.a = shared->a;
  for (size_t call = 0; call < shared->minimum; ++call) {
    call_blas(&shared->operation, &operands);
    add_to_checksum(&worker->checksum, &operands.c);
    if (!shared->share_a) touch_a(&shared->operation, &operands, call);
  }
  pthread_barrier_wait(&shared->barrier);
  worker->started = now();
  for (; worker->calls < shared->calls && now() - worker->started < shared->seconds; ++worker->calls) {
    call_blas(&shared->operation, &operands);
    worker->read_back += get_number(&operands.c, worker->calls % operands.c.count);
    if (!shared->share_a) touch_a(&shared->operation, &operands, shared->minimum + worker->calls);
  }
  worker->ended = now();
  pthread_barrier_wait(&shared->barrier);
  operands.a = own;
  destroy_operands(&operands);
  return NULL;
}

static void report(const struct Shared* shared, const struct Worker* workers, size_t threads) {
  struct Checksum checksum = {0, 0};
  size_t calls = 0, fewest = workers[0].calls;
  double started = workers[0].started, ended = workers[0].ended, read_back = 0;
  for (size_t i = 0; i < threads; ++i) {
    checksum.sum += workers[i].checksum.sum;
    checksum.magnitude += workers[i].checksum.magnitude;
    calls += workers[i].calls;
    if (workers[i].calls < fewest) fewest = workers[i].calls;
    if (workers[i].started < started) started = workers[i].started;
    if (workers[i].ended > ended) ended = workers[i].ended;
    read_back += workers[i].read_back;
  }
  printf(
      "{\"program\": \"threads_gemm\", \"operation\": \"%s\", \"threads\": %zu, \"calls\": %zu, \"fewest_calls\": %zu",
      shared->operation.text, threads, calls, fewest);
  printf(", \"seconds\": %.9g, \"rate\": %.9g, \"read_back\": %.9g", ended - started, (double)calls / (ended - started),
         read_back);
  printf(", \"checksum\": {\"calls\": %zu, \"sum\": %.17g, \"magnitude\": %.17g}}\n", shared->minimum, checksum.sum,
         checksum.magnitude);
}

int main(int count, char** arguments) {
  static const struct option known[] = {
      {"threads", required_argument, NULL, 't'}, {"calls", required_argument, NULL, 'c'},
      {"minimum", required_argument, NULL, 'm'}, {"seconds", required_argument, NULL, 's'},
      {"shared-a", no_argument, NULL, 'a'},      {NULL, 0, NULL, 0},
  };
  struct Shared shared = {.calls = 100, .minimum = 3, .seconds = 1e9};
  size_t threads = 8;
  for (int letter; (letter = getopt_long(count, arguments, "", known, NULL)) != -1;) switch (letter) {
      case 't': threads = strtoul(optarg, NULL, 10); break;
      case 'c': shared.calls = strtoul(optarg, NULL, 10); break;
      case 'm': shared.minimum = strtoul(optarg, NULL, 10); break;
      case 's': shared.seconds = strtod(optarg, NULL); break;
      case 'a': shared.share_a = 1; break;
      default: return 2;
    }
  if (optind + 1 != count || threads < 1 || shared.calls < 1) fail("usage: threads_gemm [options] OPERATION");
  shared.operation = parse_operation(arguments[optind]);

  struct Operands common = {0};
  if (shared.share_a) {
    common = create_operands(&shared.operation, 0);
    shared.a = common.a;
  }
  struct Worker* workers = calloc(threads, sizeof *workers);
  if (!workers) fail("out of memory");
  pthread_barrier_init(&shared.barrier, NULL, (unsigned)threads);
  for (size_t i = 0; i < threads; ++i) {
    workers[i].shared = &shared;
    workers[i].seed = 10 * i;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i])) fail("cannot start thread %zu", i);
  }
  for (size_t i = 0; i < threads; ++i) pthread_join(workers[i].thread, NULL);
  report(&shared, workers, threads);
  free(workers);
  if (shared.share_a) destroy_operands(&common);
  return 0;
}
