/* A working set of matrices that is used repeatedly: C := A B for each of many pairs of square matrices of doubles, by
 * BLAS (working_set_blas.c) and by cuBLAS on managed memory (limit/managed.c). The CPU changes one element of A before
 * each call, and reads one element of C after it. */
#ifndef BLASTOFF_BENCH_WORKING_SET_H
#define BLASTOFF_BENCH_WORKING_SET_H

#include "measure.h"

struct WorkingSet {
  int order;
  size_t pairs;
  size_t rounds;
  double *a, *b; /* all matrices A one behind the other, and all matrices B */
  double* c;     /* one result, which all pairs use */
};

/* C := A B; the CPU may read C afterwards. */
typedef void Multiply(int order, const double* a, const double* b, double* c);

/* As many pairs as fill about `mebibytes` MiB; allocates no memory. Ends the program if the numbers are not valid. */
struct WorkingSet parse_working_set(const char* order, const char* mebibytes, const char* rounds);

size_t matrix_elements(const struct WorkingSet* set);
void fill_working_set(struct WorkingSet* set);

/* Prints one JSON line: the seconds of a call, over all rounds except the first two, and a checksum. */
void go_through(const char* program, struct WorkingSet* set, Multiply* multiply);

#endif
