/* One level-3 BLAS operation and its matrices, written on the command line as
 *   gemm: dgemm,T,N,32,2400,93536   (transa, transb, m, n, k)     C := op(A) op(B)
 *   syrk: dsyrk,4000,1000           (n, k)                        lower triangle of C := A A^T
 *   trsm: ztrsm,4000,2000           (m, n)                        B := A^-1 B, A lower triangular
 * in the types s, d, c and z. */
#ifndef BLASTOFF_BENCH_OPERATION_H
#define BLASTOFF_BENCH_OPERATION_H

#include "measure.h"

enum Kind { GEMM, SYRK, TRSM };

struct Operation {
  const char* text; /* as on the command line */
  enum Kind kind;
  char type; /* s, d, c or z */
  char transa, transb;
  int m, n, k;
};

/* The operands; B is unused (no numbers) by syrk and trsm, whose result is C. */
struct Operands {
  struct Numbers a, b, c;
};

struct Operation parse_operation(const char* text); /* ends the program if the text is not valid */

int is_complex(const struct Operation* operation);
size_t element_bytes(const struct Operation* operation);
int rows_of_a(const struct Operation* operation);
int rows_of_b(const struct Operation* operation);
int rows_of_c(const struct Operation* operation);

/* Allocates and fills the operands. The triangle for trsm is close to the identity, so that the solution of repeated
 * solves neither grows nor vanishes. */
struct Operands create_operands(const struct Operation* operation, uint64_t seed);
void destroy_operands(struct Operands* operands);

/* Changes one element of A that influences the result. Each call changes another element, on another page. */
void touch_a(const struct Operation* operation, struct Operands* operands, size_t call);

/* Overwrites all of A with values that depend on `call`. Must not be used for trsm. */
void rewrite_a(struct Operands* operands, size_t call);

/* The Fortran BLAS call. */
void call_blas(const struct Operation* operation, struct Operands* operands);

/* Prints `"operation": ..., "bytes": {...}` without a trailing comma. */
void print_operation(const struct Operation* operation, const struct Operands* operands);

#endif
