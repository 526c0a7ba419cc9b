/* The cost of one small call: times batches of dgemm calls on matrices that fit in the cache.
 *
 *   small_calls [--batches N] [--calls N] OPERATION
 *
 * Prints one JSON line with the nanoseconds per call of the batches. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "operation.h"

int main(int count, char** arguments) {
  static const struct option known[] = {
      {"batches", required_argument, NULL, 'b'}, {"calls", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0}};
  size_t batches = 15, calls = 100000;
  for (int letter; (letter = getopt_long(count, arguments, "", known, NULL)) != -1;) switch (letter) {
      case 'b': batches = strtoul(optarg, NULL, 10); break;
      case 'c': calls = strtoul(optarg, NULL, 10); break;
      default: return 2;
    }
  if (optind + 1 != count || batches < 1 || calls < 1) fail("usage: small_calls [--batches N] [--calls N] OPERATION");
  struct Operation operation = parse_operation(arguments[optind]);
  struct Operands operands = create_operands(&operation, 0);
  double* nanoseconds = calloc(batches, sizeof *nanoseconds);
  if (!nanoseconds) fail("out of memory");

  for (size_t i = 0; i < calls / 10 + 1; ++i) call_blas(&operation, &operands);
  for (size_t batch = 0; batch < batches; ++batch) {
    double start = now();
    for (size_t i = 0; i < calls; ++i) call_blas(&operation, &operands);
    nanoseconds[batch] = (now() - start) * 1e9 / (double)calls;
  }
  struct Checksum checksum = {0, 0};
  add_to_checksum(&checksum, &operands.c);
  printf("{\"program\": \"small_calls\", \"operation\": \"%s\", \"calls\": %zu, ", operation.text, calls);
  print_statistics("nanoseconds", summarize(nanoseconds, batches));
  printf(", \"checksum\": {\"calls\": 1, \"sum\": %.17g, \"magnitude\": %.17g}}\n", checksum.sum, checksum.magnitude);
  free(nanoseconds);
  destroy_operands(&operands);
  return 0;
}
