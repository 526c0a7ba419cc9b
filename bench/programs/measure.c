#include "measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare_doubles(const void* left, const void* right) {
  double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

struct Statistics summarize(const double* samples, size_t count) {
  struct Statistics result = {.count = count};
  if (count == 0) return result;
  double* sorted = malloc(count * sizeof *sorted);
  if (!sorted) fail("out of memory");
  memcpy(sorted, samples, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_doubles);
  for (size_t i = 0; i < count; ++i) result.mean += sorted[i] / (double)count;
  result.minimum = sorted[0];
  result.median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
  result.maximum = sorted[count - 1];
  free(sorted);
  return result;
}

void print_statistics(const char* name, struct Statistics s) {
  printf("\"%s\": {\"count\": %zu, \"min\": %.9g, \"median\": %.9g, \"mean\": %.9g, \"max\": %.9g}", name, s.count,
         s.minimum, s.median, s.mean, s.maximum);
}

struct Numbers allocate_numbers(size_t count, int single_precision) {
  size_t size = single_precision ? sizeof(float) : sizeof(double);
  struct Numbers numbers = {malloc(count * size), count, single_precision};
  if (!numbers.data) fail("out of memory: %zu bytes", count * size);
  return numbers;
}

double get_number(const struct Numbers* numbers, size_t index) {
  return numbers->single_precision ? (double)((const float*)numbers->data)[index]
                                   : ((const double*)numbers->data)[index];
}

void set_number(struct Numbers* numbers, size_t index, double value) {
  if (numbers->single_precision)
    ((float*)numbers->data)[index] = (float)value;
  else
    ((double*)numbers->data)[index] = value;
}

static double uniform(uint64_t index, uint64_t seed) { /* splitmix64, in [-0.5, 0.5) */
  uint64_t z = (index + seed) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z ^= z >> 27;
  return (double)(int64_t)z * 0x1p-64;
}

void fill_numbers(struct Numbers* numbers, uint64_t seed, double scale) {
  for (size_t i = 0; i < numbers->count; ++i) set_number(numbers, i, scale * uniform(i, seed << 40));
}

void add_to_checksum(struct Checksum* checksum, const struct Numbers* numbers) {
  double sum = 0, magnitude = 0;
  for (size_t i = 0; i < numbers->count; ++i) {
    double value = get_number(numbers, i);
    double weight = (double)(int)((i * 2654435761u >> 12) & 2047) - 1023.5;
    sum += value * weight;
    magnitude += fabs(value);
  }
  checksum->sum += sum / 1024;
  checksum->magnitude += magnitude;
}

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(2);
}
