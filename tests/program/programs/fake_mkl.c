// The part of MKL that plans of two-dimensional transforms need, with FFTW's names. There is one plan at a time, and
// each plan has the address of the one before. WITHOUT_DFTI: a library that gives no information about its plans.
#include "fake_mkl.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct descriptor {
  long lengths[2];
  int placement;
};

struct plan {
  struct descriptor* descriptor;
  void* arrays[4];
  void* parameters[3];
  void (*execute)(struct plan* plan);
  void (*destroy)(struct plan* plan);
  void* distributed;
};

static void compute(struct plan* plan, int sign) {
  const long n = plan->descriptor->lengths[0], m = plan->descriptor->lengths[1];
  double* const result = calloc(2 * (size_t)(n * m), sizeof(double));
  if (result == NULL) abort();
  naive_transform(n, m, sign, plan->arrays[0], result);
  memcpy(plan->arrays[1] ? plan->arrays[1] : plan->arrays[0], result, 2 * (size_t)(n * m) * sizeof(double));
  free(result);
}

static void forward(struct plan* plan) {
  compute(plan, -1);
}
static void backward(struct plan* plan) {
  compute(plan, 1);
}
static void end(struct plan* plan) {
  plan->execute = NULL;
}

enum { in_place = 43, not_in_place = 44 };

void* fake_plan(int n, int m, double* in, double* out, int sign) {
  static struct descriptor descriptor;
  static struct plan plan;
  descriptor = (struct descriptor){{n, m}, in == out ? in_place : not_in_place};
  plan = (struct plan){&descriptor, {in, in == out ? NULL : out}, {NULL}, sign < 0 ? forward : backward, end, NULL};
  return &plan;
}

/// A name that only FFTW has, and libraries that stand for it.
void fftw_plan_guru64_dft(void) {}

void* fftw_plan_dft_2d(int n, int m, double* in, double* out, int sign, unsigned flags) {
  (void)flags;
  return fake_plan(n, m, in, out, sign);
}

void fftw_execute(void* plan) {
  ((struct plan*)plan)->execute(plan);
}

void fftw_execute_dft(void* plan, double* in, double* out) {
  struct plan other = *(struct plan*)plan;
  other.arrays[0] = in;
  other.arrays[1] = in == out ? NULL : out;
  other.execute(&other);
}

void fftw_destroy_plan(void* plan) {
  ((struct plan*)plan)->destroy(plan);
}

#ifndef WITHOUT_DFTI
/// The parameters have the numbers of mkl_dfti.h.
#ifdef HIDDEN_DFTI
__attribute__((visibility("hidden")))
#endif
long DftiGetValue(void* of, int parameter, ...) {
  const struct descriptor* const descriptor = of;
  va_list rest;
  va_start(rest, parameter);
  long* const value = va_arg(rest, long*);
  va_end(rest);
  const long strides[] = {0, descriptor->lengths[1], 1};
  switch (parameter) {
    case 0: *(int*)value = 32; return 0;
    case 2: memcpy(value, descriptor->lengths, sizeof descriptor->lengths); return 0;
    case 3: *(int*)value = 36; return 0;
    case 7: *value = 1; return 0;
    case 11: *(int*)value = descriptor->placement; return 0;
    case 12:
    case 13: memcpy(value, strides, sizeof strides); return 0;
    case 14:
    case 15: *value = 0; return 0;
    default: return 3;
  }
}
#endif
