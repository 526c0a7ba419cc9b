/* A working set of matrices that is used again and again: C := A B for each of many pairs of square matrices of
 * doubles, by BLAS (working_set_blas.c) and by cuBLAS on managed memory (limit/managed.c). Before each call the CPU
 * changes one element of A; after it, it reads one of C. */
#ifndef BLASTOFF_BENCH_WORKING_SET_H
#define BLASTOFF_BENCH_WORKING_SET_H

#include "measure.h"

struct WorkingSet {
  int order;
  size_t pairs;
  size_t rounds;
  double *a, *b; /* all A, and all B, one behind the other */
  double* c;     /* of all pairs */
};

/* C := A B; the CPU may read C afterwards. */
typedef void Multiply(int order, const double* a, const double* b, double* c);

/* As many pairs as make up about so many MiB, without memory. Ends the program where the numbers make no sense. */
struct WorkingSet parse_working_set(const char* order, const char* mebibytes, const char* rounds);

size_t matrix_elements(const struct WorkingSet* set);
void fill_working_set(struct WorkingSet* set);

/* Prints one JSON line: the seconds of a call, over the rounds but the first two, and a checksum. */
void go_through(const char* program, struct WorkingSet* set, Multiply* multiply);

#endif
