#pragma once

#include <math.h>

void* fftw_plan_dft_2d(int n, int m, double* in, double* out, int sign, unsigned flags);
void fftw_execute(void* plan);
void fftw_execute_dft(void* plan, double* in, double* out);
void fftw_destroy_plan(void* plan);

/// Ends the previous plan and makes another one. It stands for a planner that Blastoff does not intercept.
void* fake_plan(int n, int m, double* in, double* out, int sign);

static inline void naive_transform(long n, long m, int sign, const double* in, double* out) {
  for (long k = 0; k < n * m; ++k) {
    double real = 0, imaginary = 0;
    for (long j = 0; j < n * m; ++j) {
      const double turns = (double)(k / m * (j / m) % n) / (double)n + (double)(k % m * (j % m) % m) / (double)m;
      const double c = cos(2 * M_PI * turns), s = sign * sin(2 * M_PI * turns);
      real += in[2 * j] * c - in[2 * j + 1] * s;
      imaginary += in[2 * j] * s + in[2 * j + 1] * c;
    }
    out[2 * k] = real;
    out[2 * k + 1] = imaginary;
  }
}
