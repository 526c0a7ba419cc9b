#include "operation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran_blas.h"

static int is_type(char letter) {
  return letter && strchr("sdcz", letter);
}
static int is_transpose(char letter) {
  return letter && strchr("NTC", letter);
}

struct Operation parse_operation(const char* text) {
  struct Operation o = {.text = text, .transa = 'N', .transb = 'N'};
  int end = -1;
  if (sscanf(text, "%cgemm,%c,%c,%d,%d,%d%n", &o.type, &o.transa, &o.transb, &o.m, &o.n, &o.k, &end) == 6)
    o.kind = GEMM;
  else if (sscanf(text, "%csyrk,%d,%d%n", &o.type, &o.n, &o.k, &end) == 3)
    o.kind = SYRK, o.m = o.n;
  else if (sscanf(text, "%ctrsm,%d,%d%n", &o.type, &o.m, &o.n, &end) == 3)
    o.kind = TRSM, o.k = o.m;
  if (end < 0 || text[end] || !is_type(o.type) || !is_transpose(o.transa) || !is_transpose(o.transb) || o.m < 1 ||
      o.n < 1 || o.k < 1)
    fail("not an operation: %s (accepted: dgemm,T,N,m,n,k  dsyrk,n,k  dtrsm,m,n, types s d c z)", text);
  return o;
}

int is_complex(const struct Operation* o) {
  return o->type == 'c' || o->type == 'z';
}
static int is_single(const struct Operation* o) {
  return o->type == 's' || o->type == 'c';
}
size_t element_bytes(const struct Operation* o) {
  return (is_single(o) ? 4u : 8u) * (is_complex(o) ? 2u : 1u);
}
int rows_of_a(const struct Operation* o) {
  return o->transa == 'N' ? o->m : o->k;
}
int rows_of_b(const struct Operation* o) {
  return o->transb == 'N' ? o->k : o->n;
}
int rows_of_c(const struct Operation* o) {
  return o->m;
}

static size_t numbers_in(const struct Operation* o, int rows, int columns) {
  return (size_t)rows * (size_t)columns * (is_complex(o) ? 2u : 1u);
}

struct Operands create_operands(const struct Operation* o, uint64_t seed) {
  struct Operands x = {0};
  x.a = allocate_numbers(numbers_in(o, o->m, o->k), is_single(o));
  x.c = allocate_numbers(numbers_in(o, o->m, o->n), is_single(o));
  fill_numbers(&x.a, seed + 1, o->kind == TRSM ? 1.0 / o->m : 1.0);
  fill_numbers(&x.c, seed + 3, o->kind == TRSM ? 1.0 : 0.0);
  if (o->kind == GEMM) {
    x.b = allocate_numbers(numbers_in(o, o->k, o->n), is_single(o));
    fill_numbers(&x.b, seed + 2, 1.0);
  }
  for (size_t i = 0; o->kind == TRSM && i < (size_t)o->m; ++i)
    set_number(&x.a, (is_complex(o) ? 2u : 1u) * i * ((size_t)o->m + 1), 1.0);
  return x;
}

void destroy_operands(struct Operands* operands) {
  free(operands->a.data);
  free(operands->b.data);
  free(operands->c.data);
  *operands = (struct Operands){0};
}

void touch_a(const struct Operation* o, struct Operands* operands, size_t call) {
  size_t index = call * 524287u % operands->a.count;
  if (o->kind == TRSM) { /* an element of the last row, which is in the lower triangle and not on the diagonal */
    size_t column = o->m > 1 ? call * 131u % (size_t)(o->m - 1) : 0;
    index = (is_complex(o) ? 2u : 1u) * (column * (size_t)o->m + (size_t)o->m - 1);
  }
  set_number(&operands->a, index, get_number(&operands->a, index) + 0.125);
}

void rewrite_a(struct Operands* operands, size_t call) {
  for (size_t i = 0; i < operands->a.count; ++i)
    set_number(&operands->a, i, (double)((i * 40503u + call * 977u) & 1023u) / 1024.0 - 0.5);
}

static int type_index(const struct Operation* o) {
  return (int)(strchr("sdcz", o->type) - "sdcz");
}

void call_blas(const struct Operation* o, struct Operands* x) {
  static const float single_one[2] = {1, 0}, single_zero[2] = {0, 0};
  static const double double_one[2] = {1, 0}, double_zero[2] = {0, 0};
  const void* one = is_single(o) ? (const void*)single_one : (const void*)double_one;
  const void* zero = is_single(o) ? (const void*)single_zero : (const void*)double_zero;
  int lda = rows_of_a(o), ldb = rows_of_b(o), ldc = rows_of_c(o);
  if (o->kind == GEMM) {
    static Gemm* const gemm[] = {sgemm_, dgemm_, cgemm_, zgemm_};
    gemm[type_index(o)](&o->transa, &o->transb, &o->m, &o->n, &o->k, one, x->a.data, &lda, x->b.data, &ldb, zero,
                        x->c.data, &ldc, 1, 1);
  } else if (o->kind == SYRK) {
    static Syrk* const syrk[] = {ssyrk_, dsyrk_, csyrk_, zsyrk_};
    syrk[type_index(o)]("L", "N", &o->n, &o->k, one, x->a.data, &lda, zero, x->c.data, &ldc, 1, 1);
  } else {
    static Trsm* const trsm[] = {strsm_, dtrsm_, ctrsm_, ztrsm_};
    trsm[type_index(o)]("L", "L", "N", "N", &o->m, &o->n, one, x->a.data, &lda, x->c.data, &ldc, 1, 1, 1, 1);
  }
}

void print_operation(const struct Operation* o, const struct Operands* x) {
  size_t size = x->a.single_precision ? sizeof(float) : sizeof(double);
  printf("\"operation\": \"%s\", \"bytes\": {\"a\": %zu, \"b\": %zu, \"c\": %zu}", o->text, x->a.count * size,
         x->b.count * size, x->c.count * size);
}
