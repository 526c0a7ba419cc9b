/* Calls one BLAS routine repeatedly on the same matrices, as an iterative solver does. Between two calls the CPU reads
 * the whole result and changes one element of A (with --rewrite-a, it overwrites all of A).
 *
 *   repeat_calls [--calls N] [--minimum N] [--seconds S] [--rewrite-a] [--start-device N] OPERATION...
 *
 * Makes at most --calls calls of each operation, at least --minimum, and starts none after --seconds. Prints one JSON
 * line per operation. The time of a call is the BLAS call only; the time of rewriting is a separate figure. `checksum`
 * covers the results of the first --minimum calls, so that runs of different lengths can be compared. --start-device
 * first calls dgemm once on other matrices of order N, so that the first timed call excludes a library's start. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operation.h"

struct Options {
  size_t calls, minimum;
  double seconds;
  int rewrite_a;
  int start_device;
};

static struct Options parse_options(int count, char** arguments) {
  static const struct option known[] = {
      {"calls", required_argument, NULL, 'c'},        {"minimum", required_argument, NULL, 'm'},
      {"seconds", required_argument, NULL, 's'},      {"rewrite-a", no_argument, NULL, 'r'},
      {"start-device", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0},
  };
  struct Options options = {.calls = 10, .minimum = 3, .seconds = 1e9};
  for (int letter; (letter = getopt_long(count, arguments, "", known, NULL)) != -1;) switch (letter) {
      case 'c': options.calls = strtoul(optarg, NULL, 10); break;
      case 'm': options.minimum = strtoul(optarg, NULL, 10); break;
      case 's': options.seconds = strtod(optarg, NULL); break;
      case 'r': options.rewrite_a = 1; break;
      case 'd': options.start_device = atoi(optarg); break;
      default: exit(2);
    }
  if (optind == count) fail("usage: repeat_calls [options] OPERATION...");
  if (options.minimum < 1 || options.calls < options.minimum) fail("--calls must be at least --minimum, and that 1");
  return options;
}

static void start_device(int size) {
  char text[64];
  snprintf(text, sizeof text, "dgemm,N,N,%d,%d,%d", size, size, size);
  struct Operation operation = parse_operation(text);
  struct Operands operands = create_operands(&operation, 99);
  call_blas(&operation, &operands);
  destroy_operands(&operands);
}

static void run(const char* text, const struct Options* options) {
  struct Operation operation = parse_operation(text);
  if (options->rewrite_a && operation.kind == TRSM) fail("--rewrite-a makes no sense for trsm");
  struct Operands operands = create_operands(&operation, 0);
  double* samples = calloc(options->calls, sizeof *samples);
  if (!samples) fail("out of memory");

  struct Checksum checksum = {0, 0}, early = {0, 0};
  double started = now(), rewriting = 0, calling = 0;
  size_t call = 0;
  for (; call < options->calls && (call < options->minimum || now() - started < options->seconds); ++call) {
    double before = now();
    if (options->rewrite_a) rewrite_a(&operands, call);
    double ready = now();
    call_blas(&operation, &operands);
    samples[call] = now() - ready;
    rewriting += ready - before;
    calling += samples[call];
    add_to_checksum(&checksum, &operands.c);
    if (call + 1 == options->minimum) early = checksum;
    if (!options->rewrite_a) touch_a(&operation, &operands, call);
  }

  printf("{\"program\": \"repeat_calls\", ");
  print_operation(&operation, &operands);
  printf(", \"calls\": %zu, \"first_seconds\": %.9g, ", call, samples[0]);
  print_statistics("seconds", summarize(samples + 1, call - 1));
  printf(", \"calling_seconds\": %.9g, \"rewriting_seconds\": %.9g", calling, rewriting);
  printf(", \"checksum\": {\"calls\": %zu, \"sum\": %.17g, \"magnitude\": %.17g}", options->minimum, early.sum,
         early.magnitude);
  printf(", \"final_checksum\": {\"calls\": %zu, \"sum\": %.17g, \"magnitude\": %.17g}}\n", call, checksum.sum,
         checksum.magnitude);
  fflush(stdout);
  free(samples);
  destroy_operands(&operands);
}

int main(int count, char** arguments) {
  struct Options options = parse_options(count, arguments);
  if (options.start_device) start_device(options.start_device);
  for (int i = optind; i < count; ++i) run(arguments[i], &options);
  return 0;
}
