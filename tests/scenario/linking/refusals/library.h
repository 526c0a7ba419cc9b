// A function that shows which library this is and how wide its numbers are, if the routine's code does not show it.
#pragma once

const char* openblas_get_config(void);
const char* openblas_get_config(void) {
  return "a library of one function";
}

int idamax_(const int* n, const double* x, const int* step);
int idamax_(const int* n, const double* x, const int* step) {
  int largest = 0;
  for (int i = 1; i < *n; ++i)
    if (x[i * *step] > x[largest * *step]) largest = i;
  return *n > 0 ? largest + 1 : 0;
}
