// Factors a sparse matrix, again and again with new values of the same pattern, and solves with each factor: what a
// nonlinear or transient simulation does. The matrix is the seven-point operator on a cube, symmetric for CHOLMOD, with
// a drift for UMFPACK and MUMPS. usage: sparse cholmod|umfpack|mumps SIDE TIMES Prints one line of JSON: seconds of all
// factorizations and of the first, and the largest residual.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cholmod.h>
#include <dmumps_c.h>
#include <umfpack.h>

#include "measure.h"

struct Matrix {  // by columns, whole: both triangles
  SuiteSparse_long order, entries;
  SuiteSparse_long *starts, *rows;
  double* values;
};

static struct Matrix cube(SuiteSparse_long side) {
  const SuiteSparse_long order = side * side * side;
  struct Matrix made = {.order = order};
  made.starts = malloc((size_t)(order + 1) * sizeof *made.starts);
  made.rows = malloc((size_t)(7 * order) * sizeof *made.rows);
  made.values = malloc((size_t)(7 * order) * sizeof *made.values);
  if (made.starts == NULL || made.rows == NULL || made.values == NULL)
    fail("no memory for a cube of side %ld", (long)side);
  const SuiteSparse_long steps[] = {-side * side, -side, -1, 0, 1, side, side * side};
  for (SuiteSparse_long column = 0; column < order; ++column) {
    const SuiteSparse_long x = column % side, y = column / side % side, z = column / (side * side);
    const int there[] = {z > 0, y > 0, x > 0, 1, x < side - 1, y < side - 1, z < side - 1};
    made.starts[column] = made.entries;
    for (int i = 0; i < 7; ++i)
      if (there[i]) made.rows[made.entries++] = column + steps[i];
  }
  made.starts[order] = made.entries;
  return made;
}

static void fill(struct Matrix* matrix, double shift, double drift) {
  for (SuiteSparse_long column = 0; column < matrix->order; ++column)
    for (SuiteSparse_long at = matrix->starts[column]; at < matrix->starts[column + 1]; ++at) {
      const SuiteSparse_long row = matrix->rows[at];
      matrix->values[at] = row == column ? 6 + shift : row < column ? -1 - drift : -1 + drift;
    }
}

// The largest element of A x - b, where b is all ones.
static double residual(const struct Matrix* matrix, const double* x) {
  double* left = malloc((size_t)matrix->order * sizeof *left);
  if (left == NULL) fail("no memory");
  for (SuiteSparse_long row = 0; row < matrix->order; ++row) left[row] = -1;
  for (SuiteSparse_long column = 0; column < matrix->order; ++column)
    for (SuiteSparse_long at = matrix->starts[column]; at < matrix->starts[column + 1]; ++at)
      left[matrix->rows[at]] += matrix->values[at] * x[column];
  double largest = 0;
  for (SuiteSparse_long row = 0; row < matrix->order; ++row) largest = fmax(largest, fabs(left[row]));
  free(left);
  return largest;
}

// A solver: `factor` is called once for each set of values, and `solve` writes the solution for a right-hand side of
// ones.
struct Solver {
  const char* name;
  double drift;
  void (*analyze)(struct Matrix*);
  void (*factor)(struct Matrix*);
  void (*solve)(struct Matrix*, double* x);
};

static cholmod_common common;
static cholmod_sparse lower;
static cholmod_factor* cholesky;

static void cholmod_analysis(struct Matrix* matrix) {
  cholmod_l_start(&common);
  lower = (cholmod_sparse){.nrow = (size_t)matrix->order,
                           .ncol = (size_t)matrix->order,
                           .nzmax = (size_t)matrix->entries,
                           .p = matrix->starts,
                           .i = matrix->rows,
                           .x = matrix->values,
                           .stype = -1,
                           .itype = CHOLMOD_LONG,
                           .xtype = CHOLMOD_REAL,
                           .dtype = CHOLMOD_DOUBLE,
                           .sorted = 1,
                           .packed = 1};
  cholesky = cholmod_l_analyze(&lower, &common);
  if (cholesky == NULL) fail("cholmod_l_analyze: %d", common.status);
}

static void cholmod_factorization(struct Matrix* matrix) {
  (void)matrix;
  if (!cholmod_l_factorize(&lower, cholesky, &common) || common.status != CHOLMOD_OK)
    fail("cholmod_l_factorize: %d", common.status);
}

static void cholmod_solution(struct Matrix* matrix, double* x) {
  cholmod_dense* ones = cholmod_l_ones((size_t)matrix->order, 1, CHOLMOD_REAL, &common);
  cholmod_dense* found = cholmod_l_solve(CHOLMOD_A, cholesky, ones, &common);
  if (found == NULL) fail("cholmod_l_solve: %d", common.status);
  memcpy(x, found->x, (size_t)matrix->order * sizeof *x);
  cholmod_l_free_dense(&found, &common);
  cholmod_l_free_dense(&ones, &common);
}

static void *symbolic, *numeric;

static void umfpack_analysis(struct Matrix* matrix) {
  const int status = (int)umfpack_dl_symbolic(matrix->order, matrix->order, matrix->starts, matrix->rows,
                                              matrix->values, &symbolic, NULL, NULL);
  if (status != UMFPACK_OK) fail("umfpack_dl_symbolic: %d", status);
}

static void umfpack_factorization(struct Matrix* matrix) {
  if (numeric != NULL) umfpack_dl_free_numeric(&numeric);
  const int status =
      (int)umfpack_dl_numeric(matrix->starts, matrix->rows, matrix->values, symbolic, &numeric, NULL, NULL);
  if (status != UMFPACK_OK) fail("umfpack_dl_numeric: %d", status);
}

static void umfpack_solution(struct Matrix* matrix, double* x) {
  double* ones = malloc((size_t)matrix->order * sizeof *ones);
  if (ones == NULL) fail("no memory");
  for (SuiteSparse_long row = 0; row < matrix->order; ++row) ones[row] = 1;
  const int status =
      (int)umfpack_dl_solve(UMFPACK_A, matrix->starts, matrix->rows, matrix->values, x, ones, numeric, NULL, NULL);
  if (status != UMFPACK_OK) fail("umfpack_dl_solve: %d", status);
  free(ones);
}

static DMUMPS_STRUC_C mumps;

static void mumps_step(int job, const char* name) {
  mumps.job = job;
  dmumps_c(&mumps);
  if (mumps.infog[0] < 0) fail("MUMPS, %s: %d, %d", name, mumps.infog[0], mumps.infog[1]);
}

static void mumps_analysis(struct Matrix* matrix) {
  mumps.comm_fortran = -987654;  // the world
  mumps.par = 1;
  mumps_step(-1, "start");
  for (int i = 0; i < 4; ++i) mumps.icntl[i] = i < 3 ? -1 : 0;  // no messages
  mumps.icntl[13] = 50;                                         // per cent of work space more than estimated
  mumps.n = (int)matrix->order;
  mumps.nnz = matrix->entries;
  mumps.irn = malloc((size_t)matrix->entries * sizeof *mumps.irn);
  mumps.jcn = malloc((size_t)matrix->entries * sizeof *mumps.jcn);
  if (mumps.irn == NULL || mumps.jcn == NULL) fail("no memory");
  for (SuiteSparse_long column = 0; column < matrix->order; ++column)
    for (SuiteSparse_long at = matrix->starts[column]; at < matrix->starts[column + 1]; ++at) {
      mumps.irn[at] = (int)matrix->rows[at] + 1;
      mumps.jcn[at] = (int)column + 1;
    }
  mumps.a = matrix->values;
  mumps_step(1, "analysis");
}

static void mumps_factorization(struct Matrix* matrix) {
  (void)matrix;
  mumps_step(2, "factorization");
}

static void mumps_solution(struct Matrix* matrix, double* x) {
  for (SuiteSparse_long row = 0; row < matrix->order; ++row) x[row] = 1;
  mumps.rhs = x;
  mumps_step(3, "solution");
}

static const struct Solver solvers[] = {
    {"cholmod", 0, cholmod_analysis, cholmod_factorization, cholmod_solution},
    {"umfpack", 0.2, umfpack_analysis, umfpack_factorization, umfpack_solution},
    {"mumps", 0.2, mumps_analysis, mumps_factorization, mumps_solution},
};

int main(int count, char** given) {
  const struct Solver* solver = NULL;
  for (size_t i = 0; count == 4 && i < sizeof solvers / sizeof *solvers; ++i)
    if (strcmp(given[1], solvers[i].name) == 0) solver = &solvers[i];
  const int side = count == 4 ? atoi(given[2]) : 0, times = count == 4 ? atoi(given[3]) : 0;
  if (solver == NULL || side < 2 || times < 1) fail("usage: sparse cholmod|umfpack|mumps SIDE TIMES");
  struct Matrix matrix = cube(side);
  double* x = malloc((size_t)matrix.order * sizeof *x);
  if (x == NULL) fail("no memory");
  fill(&matrix, 0.1, solver->drift);
  solver->analyze(&matrix);
  double seconds = 0, first = 0, largest = 0;
  for (int time = 0; time < times; ++time) {
    fill(&matrix, 0.1 + 0.01 * time, solver->drift);
    const double begin = now();
    solver->factor(&matrix);
    seconds += now() - begin;
    if (time == 0) first = seconds;
    solver->solve(&matrix, x);
    largest = fmax(largest, residual(&matrix, x));
  }
  printf("{\"seconds\": %.4f, \"first\": %.4f, \"residual\": %.3g}\n", seconds, first, largest);
  return largest < 1e-8 ? 0 : 1;
}
