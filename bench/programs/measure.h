/* Code that all benchmark programs share: a clock, statistics, reproducible data, checksums. */
#ifndef BLASTOFF_BENCH_MEASURE_H
#define BLASTOFF_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* Seconds of CLOCK_MONOTONIC. */
double now(void);

/* Summary of a list of durations in seconds. */
struct Statistics {
  size_t count;
  double minimum, median, mean, maximum;
};
struct Statistics summarize(const double* samples, size_t count); /* count may be 0: all fields are 0 */

/* Prints `"name": {"count": ..., "min": ..., ...}` without a trailing comma. */
void print_statistics(const char* name, struct Statistics statistics);

/* An array of real numbers, single or double: complex elements count as two. */
struct Numbers {
  void* data;
  size_t count;
  int single_precision;
};
struct Numbers allocate_numbers(size_t count, int single_precision); /* by malloc; ends the program if that fails */
double get_number(const struct Numbers* numbers, size_t index);
void set_number(struct Numbers* numbers, size_t index, double value);

/* Pseudo-random values in [-scale/2, scale/2), the same for the same seed in either precision up to rounding. */
void fill_numbers(struct Numbers* numbers, uint64_t seed, double scale);

/* A weighted sum with a different weight for each number, and the sum of magnitudes, which scales its rounding. */
struct Checksum {
  double sum, magnitude;
};
void add_to_checksum(struct Checksum* checksum, const struct Numbers* numbers);

/* Ends the program with status 2 and one line on stderr. */
_Noreturn void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

#endif
