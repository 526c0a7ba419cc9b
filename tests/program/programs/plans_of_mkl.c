// Plans of a library that stands for MKL. One plan has the address of an earlier one, and its making was not noticed.
#include <stdio.h>

#include "fake_mkl.h"

enum { most = 144 };
static double in[2 * most], out[2 * most], expected[2 * most];
static int wrong = 0;

static void execute(const char* what, void* plan, int n, int m, int sign) {
  for (int i = 0; i < 2 * n * m; ++i) in[i] = i % 7 - i % 3;
  fftw_execute(plan);
  naive_transform(n, m, sign, in, expected);
  int right = 1;
  for (int i = 0; i < 2 * n * m; ++i) right &= fabs(out[i] - expected[i]) < 1e-9;
  printf("%s: %s\n", what, right ? "right" : "WRONG");
  wrong += !right;
}

int main(void) {
  void* const first = fftw_plan_dft_2d(4, 4, in, out, -1, 0);
  execute("a plan", first, 4, 4, -1);
  execute("again", first, 4, 4, -1);
  execute("a larger one in its place", fake_plan(12, 12, in, out, -1), 12, 12, -1);
  void* const second = fftw_plan_dft_2d(8, 18, in, out, -1, 0);
  execute("another one", second, 8, 18, -1);
  execute("one of other lengths in its place", fake_plan(12, 12, in, out, -1), 12, 12, -1);
  void* const third = fftw_plan_dft_2d(12, 12, in, out, -1, 0);
  execute("a third one", third, 12, 12, -1);
  execute("one of the other direction in its place", fake_plan(12, 12, in, out, 1), 12, 12, 1);
  fftw_destroy_plan(fftw_plan_dft_2d(3, 5, in, out, 1, 0));
  return wrong;
}
