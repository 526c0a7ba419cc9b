// Transforms whose results stay on the device: of new numbers, of the result before, and in place. Then the program
// looks, and compares with the transform's definition.
#include <complex.h>
#include <fftw3.h>

#include "scenario.h"

enum { ROWS = 64, COLUMNS = 96, POINTS = ROWS * COLUMNS };

static double complex* mapped(void) {
  return (double complex*)mapped_doubles(2 * POINTS);
}

static void transform(double complex* from, double complex* to, int sign) {
  fftw_plan plan = fftw_plan_dft_2d(ROWS, COLUMNS, from, to, sign, FFTW_ESTIMATE);
  fftw_execute(plan);
  fftw_destroy_plan(plan);
}

static double complex root(int power, int length) {
  return cexp(-2 * acos(-1.0) * I * (power % length) / length);
}

static int is_transform(const double complex* found, const double complex* input) {
  double complex* const half = calloc(POINTS, sizeof *half);
  int all = 1;
  for (int r = 0; r < ROWS; ++r)
    for (int k = 0; k < COLUMNS; ++k)
      for (int j = 0; j < COLUMNS; ++j) half[r * COLUMNS + k] += input[r * COLUMNS + j] * root(j * k, COLUMNS);
  for (int q = 0; q < ROWS; ++q)
    for (int k = 0; k < COLUMNS; ++k) {
      double complex sum = 0;
      for (int r = 0; r < ROWS; ++r) sum += half[r * COLUMNS + k] * root(q * r, ROWS);
      all &= cabs(found[q * COLUMNS + k] - sum) <= 1e-9;
    }
  free(half);
  return all;
}

static int is_multiple(const double complex* found, const double complex* input) {
  int all = 1;
  for (int i = 0; i < POINTS; ++i) all &= cabs(found[i] - POINTS * input[i]) <= 1e-9;
  return all;
}

int main(void) {
  double complex* const input = mapped();
  double complex* const spectrum = mapped();
  double complex* const back = mapped();
  fill((double*)input, 2 * POINTS, 1);
  transform(input, spectrum, FFTW_FORWARD);
  transform(spectrum, back, FFTW_BACKWARD);
  verdict("there and back", is_multiple(back, input));
  verdict("a transform that was read on the device before", is_transform(spectrum, input));
  transform(input, spectrum, FFTW_FORWARD);
  transform(spectrum, spectrum, FFTW_BACKWARD);
  verdict("in place, where it stays", is_multiple(spectrum, input));
  spectrum[7] = 1;
  transform(spectrum, back, FFTW_FORWARD);
  verdict("after a look and a change", is_transform(back, spectrum));
  return scenario_status();
}
