// A library whose code does not show how wide its numbers are; only a call shows it. INTEGER: the type of its integers.
// MARK: a function that shows which library it is. LAYERED: the width of its integers is chosen at run time, as in MKL.
#include <stddef.h>

#ifndef INTEGER
#define INTEGER int
#endif
#ifndef REAL
#define REAL double
#endif

typedef void Product(const char*, const char*, const void*, const void*, const void*, const REAL*, const REAL*,
                     const void*, const REAL*, const void*, const REAL*, REAL*, const void*);

#ifdef LAYERED
static int wide;
int MKL_Set_Interface_Layer(int layer);
int MKL_Set_Interface_Layer(int layer) {
  return wide = layer;
}
static long at(const void* integer) {
  return wide ? *(const long*)integer : *(const int*)integer;
}
#else
static long at(const void* integer) {
  return *(const INTEGER*)integer;
}
#endif

const char* MARK(void);
const char* MARK(void) {
  return "a library";
}

static int largest(const void* n, const REAL* x, const void* step) {
  long found = 0;
  for (long i = 1; i < at(n); ++i)
    if (x[i * at(step)] > x[found * at(step)]) found = i;
  return at(n) > 0 ? (int)found + 1 : 0;
}

static void product(const char* transa, const char* transb, const void* m, const void* n, const void* k,
                    const REAL* alpha, const REAL* a, const void* lda, const REAL* b, const void* ldb, const REAL* beta,
                    REAL* c, const void* ldc) {
  if (*transa != 'N' || *transb != 'N') return;
  for (long j = 0; j < at(n); ++j)
    for (long i = 0; i < at(m); ++i) {
      REAL sum = 0;
      for (long l = 0; l < at(k); ++l) sum += a[i + l * at(lda)] * b[l + j * at(ldb)];
      REAL* const element = &c[i + j * at(ldc)];
      *element = *alpha * sum + (*beta == 0 ? 0 : *beta * *element);
    }
}

// The function is chosen when it is called, as in libraries with code for several processors.
static Product* volatile chosen_product = product;
static int (*volatile chosen_largest)(const void*, const REAL*, const void*) = largest;

#ifndef DGEMM
#define DGEMM dgemm_
#define IDAMAX idamax_
#endif
Product DGEMM;
void DGEMM(const char* transa, const char* transb, const void* m, const void* n, const void* k, const REAL* alpha,
           const REAL* a, const void* lda, const REAL* b, const void* ldb, const REAL* beta, REAL* c, const void* ldc) {
  chosen_product(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

int IDAMAX(const void* n, const REAL* x, const void* step);
int IDAMAX(const void* n, const REAL* x, const void* step) {
  return chosen_largest(n, x, step);
}
