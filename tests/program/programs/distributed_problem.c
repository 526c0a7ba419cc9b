/* Solves A x = w B x on a grid of ROWS x COLUMNS ranks by pdpotrf, pdsygst, pdsyevd and pdtrsm, and checks each result
 * against its definition. What the ranks do to the Cholesky factor between pdpotrf and pdsygst:
 *   nothing, element (the last rank doubles one element), again (all free their memory, and have other numbers in new
 *   memory), part (the leading part of the matrices is reduced, by the same addresses), disagree (as element; then all
 *   call pdtrsm with the factor, but the last rank with another alpha), factorize (the problem ends there).
 * usage: distributed_problem ROWS COLUMNS N BLOCK CHANGE...   One problem for each change. Prints "right" on rank 0. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "distributed_matrix.h"

static int wrong;

static double symmetric(int i, int j) {
  return noise(3, i < j ? i : j, i < j ? j : i);
}
static double metric(int i, int j) {
  return noise(4, i < j ? i : j, i < j ? j : i) + (i == j ? n : 0);
}

/* Pages of its own: a trace knows which pages are written, not which numbers. */
static double* allocate(void) {
  const size_t page = 4096;
  return aligned_alloc(page, (sizeof(double) * (size_t)(held[0] * held[1] + 1) + page - 1) / page * page);
}

static void fill(double* part, double (*element)(int, int)) {
  for (int j = 0; j < held[1]; ++j)
    for (int i = 0; i < held[0]; ++i) part[i + j * held[0]] = element(global(i, 0), global(j, 1));
}

static void judge(const char* what, double error) {
  if (error <= 1e-11 * n) return; /* not for NaN */
  printf("rank %d: %s: %g\n", rank, what, error);
  wrong = 1;
}

/* Whether L C L^T is A in the leading part, with L and C in the lower triangles as they are now. */
static void check_reduction(const double* a, const double* b, int order) {
  double *c = collect(a, 1), *l = collect(b, 1), *lc = calloc((size_t)(n * n), sizeof(double)), worst = 0;
  for (int j = 0; j < order; ++j)
    for (int k = 0; k < order; ++k)
      for (int i = k; i < order; ++i) lc[i + j * n] += l[i + k * n] * (k >= j ? c[k + j * n] : c[j + k * n]);
  for (int j = rank; j < order; j += ranks)
    for (int i = j; i < order; ++i) {
      double sum = -symmetric(i, j);
      for (int k = 0; k <= j; ++k) sum += lc[i + k * n] * l[j + k * n];
      worst = fmax(worst, isnan(sum) ? INFINITY : fabs(sum));
    }
  judge("pdsygst", worst);
  free(c), free(l), free(lc);
}

/* Whether A x = w L L^T x. */
static void check_solution(const double* b, const double* z, const double* values) {
  double *l = collect(b, 1), *x = collect(z, 1), *y = calloc((size_t)n, sizeof(double)), worst = 0;
  for (int j = rank; j < n; j += ranks) {
    memset(y, 0, sizeof(double) * (size_t)n);
    for (int k = 0; k < n; ++k)
      for (int i = k; i < n; ++i) y[k] += l[i + k * n] * x[i + j * n];
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k < n; ++k)
        sum += symmetric(i, k) * x[k + j * n] - (k <= i ? values[j] * l[i + k * n] * y[k] : 0);
      worst = fmax(worst, isnan(sum) ? INFINITY : fabs(sum));
    }
  }
  judge("pdtrsm", worst);
  free(l), free(x), free(y);
}

static double* changed(double* b, const char* change) {
  if ((strcmp(change, "element") == 0 || strcmp(change, "disagree") == 0) && rank == ranks - 1)
    for (int at = held[0] * held[1] - 1; at >= 0; --at)
      if (global(at % held[0], 0) == global(at / held[0], 1)) {
        b[at] *= 2;
        break;
      }
  if (strcmp(change, "again") != 0) return b;
  double* const kept = allocate();
  for (int i = 0; i < held[0] * held[1]; ++i) kept[i] = 1.5 * b[i];
  free(b);
  b = allocate();
  memcpy(b, kept, sizeof(double) * (size_t)(held[0] * held[1]));
  free(kept);
  return b;
}

static void solve(double* a, double** factor, double* z, const char* change) {
  int info = 0, integers = 0;
  double scale = 0, size = 0;
  const double unit = 1;
  double* b = *factor;
  fill(a, symmetric), fill(b, metric);
  pdpotrf_("L", &n, b, &one, &one, descriptor, &info);
  judge("info of pdpotrf", info);
  if (strcmp(change, "factorize") == 0) return;
  double* const values = malloc(sizeof(double) * (size_t)n);
  *factor = b = changed(b, change);
  if (strcmp(change, "disagree") == 0) {
    const double alpha = rank == ranks - 1 ? 2 : 1;
    fill(z, symmetric);
    pdtrsm_("L", "L", "T", "N", &n, &n, &alpha, b, &one, &one, descriptor, z, &one, &one, descriptor);
  }
  const int order = strcmp(change, "part") == 0 ? n - 2 * block : n;
  pdsygst_(&one, "L", &order, a, &one, &one, descriptor, b, &one, &one, descriptor, &scale, &info);
  judge("info of pdsygst", info + fabs(scale - 1));
  check_reduction(a, b, order);
  if (order == n) {
    pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, z, &one, &one, descriptor, &size, &query, &integers,
             &query, &info);
    const int reals = (int)size + n * n;
    double* work = malloc(sizeof(double) * (size_t)reals);
    int* indices = malloc(sizeof(int) * (size_t)integers);
    pdsyevd_("V", "L", &n, a, &one, &one, descriptor, values, z, &one, &one, descriptor, work, &reals, indices,
             &integers, &info);
    judge("info of pdsyevd", info);
    pdtrsm_("L", "L", "T", "N", &n, &n, &unit, b, &one, &one, descriptor, z, &one, &one, descriptor);
    check_solution(b, z, values);
    free(work), free(indices);
  }
  free(values);
}

int main(int count, char** arguments) {
  if (count < 6) return 2;
  begin(arguments[3], arguments[4], arguments[1], arguments[2]);
  double *a = allocate(), *b = allocate(), *z = allocate();
  for (int round = 5; round < count; ++round) solve(a, &b, z, arguments[round]);
  free(a), free(b), free(z);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", wrong ? "WRONG" : "right");
  end();
  return wrong;
}
