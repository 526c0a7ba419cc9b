/* Makes random calls of ScaLAPACK and the PBLAS on a grid of ROWS x COLUMNS ranks: sub-matrices, blocks of any size,
 * any process as the first, padded local parts. Elements that a routine may not use are NaN. Each rank records all its
 * memory after each call, or compares it with an earlier record.
 * usage: distributed_calls ROWS COLUMNS SEED CALLS LARGEST record|compare FILE [ROUTINE...|reliable]
 * reliable: only calls that ScaLAPACK 2.2.1 itself makes right.
 * OWN_PRODUCTS in the environment: before each call, each rank makes a product of its own.
 * FILE.RANK is the record of a rank. Prints the calls whose results differ, then "same" or "DIFFERENT", on rank 0. */
#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bench/programs/scalapack.h"

/* Any routine: all arguments are addresses, but for the lengths of letters. */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
typedef void (*Function)();

enum Kind {
  GEMM,
  SYMM,
  SYRK,
  SYR2K,
  TRMM,
  POTRF,
  POTRS,
  POSV,
  GETRF,
  GETRS,
  GESV,
  TRTRI,
  QR,
  GELS,
  GESVD,
  REDUCTION,
  EIGEN
};
static const char* const names[] = {
    "gemm",  "symm",  "hemm",  "syrk",  "herk",  "syr2k", "her2k", "trmm",  "trsm",  "potrf", "potri",  "potrs", "posv",
    "getrf", "getrs", "gesv",  "trtri", "geqrf", "orgqr", "ungqr", "ormqr", "unmqr", "gels",  "gesvd",  "syev",  "heev",
    "syevd", "heevd", "syevx", "heevx", "syevr", "heevr", "sygvx", "hegvx", "sygst", "hegst", "syngst", "hengst"};
static const enum Kind kinds[] = {GEMM,  SYMM,  SYMM,  SYRK,  SYRK,      SYR2K,     SYR2K,     TRMM,     TRMM,  POTRF,
                                  POTRF, POTRS, POSV,  GETRF, GETRS,     GESV,      TRTRI,     QR,       QR,    QR,
                                  QR,    QR,    GELS,  GESVD, EIGEN,     EIGEN,     EIGEN,     EIGEN,    EIGEN, EIGEN,
                                  EIGEN, EIGEN, EIGEN, EIGEN, REDUCTION, REDUCTION, REDUCTION, REDUCTION};
enum { ROUTINES = sizeof names / sizeof *names };

static int grid, sides[2], place[2], rank, reliable;
static unsigned long long state;

static unsigned next(unsigned below) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (unsigned)((state >> 20) % below);
}
static char one_of(const char* letters) {
  return letters[next((unsigned)strlen(letters))];
}

/* Element (i, j) of a matrix, the same on every rank. */
static double noise(unsigned seed, int i, int j) {
  unsigned long long x =
      (((unsigned long long)seed * 10007u + (unsigned)i) * 10007u + (unsigned)j + 1) * 0x9E3779B97F4A7C15ull;
  x ^= x >> 29, x *= 0xBF58476D1CE4E5B9ull, x ^= x >> 32;
  return (double)(x >> 11) / 9007199254740992.0 - 0.5;
}

static int type; /* 0 to 3: s, d, c, z */
static size_t element_bytes(void) {
  return (size_t[]){4, 8, 8, 16}[type];
}

struct Matrix {
  int descriptor[9], row, column, rows, columns; /* the sub-matrix begins at row, column, from 1 */
  char triangle;                                 /* 'u', 'l', or 0 */
  int symmetric;                                 /* 1: A(i,j) = A(j,i), 2: Hermitian, 0: neither */
  double diagonal;                               /* added to the diagonal */
  int empty;                                     /* this column is 0, from 1; 0: none is */
  unsigned seed;
  int local_rows, local_columns;
  char* data;
};

static int owner_side(int index, int block, int first, int side) {
  return (index / block + first) % side;
}

static void set(char* element, double real, double imaginary) {
  if (type == 0) *(float*)element = (float)real;
  if (type == 1) *(double*)element = real;
  if (type == 2) ((float*)element)[0] = (float)real, ((float*)element)[1] = (float)imaginary;
  if (type == 3) ((double*)element)[0] = real, ((double*)element)[1] = imaginary;
}

static void set_element(const struct Matrix* m, char* element, int i, int j) {
  const int inside = i >= 0 && j >= 0 && i < m->rows && j < m->columns;
  const int used = inside && !(m->triangle == 'u' && i > j) && !(m->triangle == 'l' && i < j);
  if (!used) {
    set(element, NAN, NAN);
    return;
  }
  if (j + 1 == m->empty) {
    set(element, 0, 0);
    return;
  }
  const int low = m->symmetric && j < i ? j : i, high = m->symmetric && j < i ? i : j;
  double imaginary = noise(m->seed + 1, low, high);
  if (m->symmetric == 2) imaginary = i == j ? 0 : low == i ? imaginary : -imaginary;
  set(element, noise(m->seed, low, high) + (i == j ? m->diagonal : 0), imaginary);
}

/* The row (axis 0) or column of the whole matrix, from 0, that a row or column of this rank's part is. */
static int global_index(int index, int axis, const int* d) {
  const int block = d[4 + axis], from = (place[axis] - d[6 + axis] + sides[axis]) % sides[axis];
  return (index / block * sides[axis] + from) * block + index % block;
}

static void fill(const struct Matrix* m) {
  const int* d = m->descriptor;
  for (int j = 0; j < m->local_columns; ++j)
    for (int i = 0; i < d[8]; ++i) {
      char* element = m->data + ((size_t)i + (size_t)j * (size_t)d[8]) * element_bytes();
      if (i < m->local_rows)
        set_element(m, element, global_index(i, 0, d) - (m->row - 1), global_index(j, 1, d) - (m->column - 1));
      else
        set(element, NAN, NAN);
    }
}

/* Makes this rank's part of a sub-matrix of `rows` x `columns`. `like`: has the same row blocks, and begins on the same
 * process row; `square`: blocks are square and the sub-matrix begins with a block, and if it is 2, on the same process
 * column. */
static void make(struct Matrix* m, int rows, int columns, int square, const struct Matrix* like) {
  int* d = m->descriptor;
  m->rows = rows, m->columns = columns;
  const unsigned largest_block = next(3) == 0 ? 40 : 8;
  const int row_block = 1 + (int)next(largest_block);
  const int column_block = square ? row_block : 1 + (int)next(largest_block);
  d[0] = 1, d[1] = grid, d[4] = row_block, d[5] = column_block;
  d[6] = (int)next((unsigned)sides[0]), d[7] = (int)next((unsigned)sides[1]);
  m->row = 1 + (int)next(12), m->column = 1 + (int)next(12);
  if (square) m->row = 1 + (int)next(3) * row_block, m->column = 1 + (int)next(3) * column_block;
  if (like != NULL) {
    d[4] = like->descriptor[4];
    if (square) d[5] = d[4], m->column = 1 + (int)next(3) * d[5];
    m->row = 1 + (int)next(3) * d[4];
    const int wanted = owner_side(like->row - 1, d[4], like->descriptor[6], sides[0]);
    d[6] = ((wanted - (m->row - 1) / d[4]) % sides[0] + sides[0]) % sides[0];
    const int column = owner_side(like->column - 1, d[5], like->descriptor[7], sides[1]);
    if (square == 2) d[7] = ((column - (m->column - 1) / d[5]) % sides[1] + sides[1]) % sides[1];
  }
  d[2] = m->row - 1 + rows + (int)next(10), d[3] = m->column - 1 + columns + (int)next(10);
  m->local_rows = numroc_(&d[2], &d[4], &place[0], &d[6], &sides[0]);
  m->local_columns = numroc_(&d[3], &d[5], &place[1], &d[7], &sides[1]);
  d[8] = (m->local_rows > 1 ? m->local_rows : 1) + (int)(noise(m->seed + 9, rank, 0) * 4 + 2);
  m->data = malloc((size_t)d[8] * (size_t)(m->local_columns + 1) * element_bytes());
  fill(m);
}

static FILE* record;
static int comparing;
static char call[400];
static int different;

static double number(const char* data, size_t index) {
  return type % 2 == 0 ? ((const float*)data)[index] : ((const double*)data)[index];
}

/* Records memory, or compares it. NaN must be the same bits, and numbers may differ by rounding. */
static void check_numbers(const char* what, const char* data, size_t bytes, double tolerance) {
  if (!comparing) {
    fwrite(data, 1, bytes, record);
    return;
  }
  const size_t width = type % 2 == 0 ? 4 : 8;
  char* recorded = malloc(bytes + 1);
  int wrong = fread(recorded, 1, bytes, record) != bytes;
  double largest = 1;
  for (size_t i = 0; i < bytes / width; ++i)
    if (fabs(number(recorded, i)) > largest) largest = fabs(number(recorded, i));
  double worst = 0;
  for (size_t i = 0; i < bytes / width && !wrong; ++i) {
    const double was = number(recorded, i), is = number(data, i);
    if (isnan(was) || isnan(is))
      wrong = memcmp(data + i * width, recorded + i * width, width) != 0;
    else if (fabs(is - was) > worst)
      worst = fabs(is - was);
  }
  if (wrong || worst > tolerance * largest) {
    printf("rank %d: %s: %s %s (%.1e of %.1e)\n", rank, call, what, wrong ? "NaN" : "differs", worst, largest);
    fflush(stdout);
    different = 1;
  }
  free(recorded);
}

static void check_integers(const char* what, const int* data, int count) {
  const size_t bytes = sizeof(int) * (size_t)count;
  if (!comparing) {
    fwrite(data, 1, bytes, record);
    return;
  }
  int* recorded = malloc(bytes + 1);
  if (fread(recorded, 1, bytes, record) != bytes || memcmp(recorded, data, bytes) != 0) {
    int first = 0;
    while (first + 1 < count && recorded[first] == data[first]) ++first;
    printf("rank %d: %s: %s: %d of %d is %d, was %d\n", rank, call, what, first, count, data[first], recorded[first]);
    fflush(stdout);
    different = 1;
  }
  free(recorded);
}

static void check_matrix(const char* what, const struct Matrix* m, double tolerance) {
  check_numbers(what, m->data, (size_t)m->descriptor[8] * (size_t)m->local_columns * element_bytes(), tolerance);
}

/* Only the pivots of the factorization: ScaLAPACK leaves anything between and behind them. */
static void check_pivots(const struct Matrix* m, int count, const int* pivots) {
  const int* d = m->descriptor;
  for (int i = m->row - 1; i < m->row - 1 + count; ++i)
    if (owner_side(i, d[4], d[6], sides[0]) == place[0])
      check_integers("pivots", &pivots[i / d[4] / sides[0] * d[4] + i % d[4]], 1);
}

static Function function(const char* name) {
  char symbol[32];
  snprintf(symbol, sizeof symbol, "p%c%s_", "sdcz"[type], name);
  return (Function)dlsym(RTLD_DEFAULT, symbol);
}

static int dimension(int largest) {
  return 1 + (int)next((unsigned)largest);
}

static double real_at(const char* values, int index) {
  return type % 2 == 0 ? ((const float*)values)[index] : ((const double*)values)[index];
}
static void scale(char* element, double factor) {
  for (int part = 0; part <= type / 2; ++part)
    if (type % 2 == 0)
      ((float*)element)[part] *= (float)factor;
    else
      ((double*)element)[part] *= factor;
}

/* For triangular matrices whose diagonal counts as 1: their inverses would grow. */
static void scale_all(const struct Matrix* m, double factor) {
  for (size_t i = 0; i < (size_t)m->descriptor[8] * (size_t)m->local_columns; ++i)
    scale(m->data + i * element_bytes(), factor);
}

#define OF(m) (m).data, &(m).row, &(m).column, (m).descriptor

/* The arguments for a matrix of vectors: nothing at all if the job does not ask for them. */
struct Wanted {
  void* data;
  const int *row, *column, *descriptor;
};
static struct Wanted wanted(const struct Matrix* m, char job) {
  if (job != 'V') return (struct Wanted){NULL, NULL, NULL, NULL};
  return (struct Wanted){m->data, &m->row, &m->column, m->descriptor};
}
#define OF_WANTED(w) (w).data, (w).row, (w).column, (w).descriptor

/* A matrix of order n with the layout of another one. `like`: nobody's elements are copied. */
static struct Matrix like(const struct Matrix* m, unsigned seed) {
  struct Matrix copy = *m;
  copy.seed = seed, copy.data = calloc((size_t)m->descriptor[8] * (size_t)(m->local_columns + 1), element_bytes());
  return copy;
}

/* The largest element of A Z - B Z diag(w), for eigenvectors Z. Overwrites Z. */
static double residual(const struct Matrix* a, const struct Matrix* b, struct Matrix* z, const char* values,
                       char uplo) {
  const char left = 'L';
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  float single_one[2] = {1, 0}, single_zero[2] = {0, 0};
  const void *unit = type % 2 == 0 ? (void*)single_one : (void*)one,
             *none = type % 2 == 0 ? (void*)single_zero : (void*)zero;
  struct Matrix az = like(z, 0), bz = like(z, 0);
  const Function multiply = function(type >= 2 ? "hemm" : "symm");
  multiply(&left, &uplo, &a->rows, &a->rows, unit, OF(*a), OF(*z), none, OF(az), 1L, 1L);
  if (b != NULL) multiply(&left, &uplo, &a->rows, &a->rows, unit, OF(*b), OF(*z), none, OF(bz), 1L, 1L);
  char* const scaled = b != NULL ? bz.data : z->data;
  double worst = 0;
  const int* d = z->descriptor;
  for (int j = 0; j < z->local_columns; ++j)
    for (int i = 0; i < z->local_rows; ++i) {
      const size_t at = ((size_t)i + (size_t)j * (size_t)d[8]) * element_bytes();
      scale(scaled + at, real_at(values, global_index(j, 1, d)));
      for (int part = 0; part <= type / 2; ++part) {
        const double difference = fabs(real_at(az.data + at, part) - real_at(scaled + at, part));
        if (!(difference <= worst)) worst = difference;
      }
    }
  free(az.data), free(bz.data);
  return worst;
}

/* Solves an eigenproblem of whole matrices, and checks the solution itself. Records nothing: ScaLAPACK 2.2.1 solves
 * many wrongly, or never ends, if the first process is not the grid's first; p?syevd and p?heevd also below one block.
 */
static void one_eigenproblem(const char* name, int n) {
  const char job = 'V', range = 'A', uplo = one_of("ULul");
  const int complex_type = type >= 2, divided = strstr(name, "evd") != NULL, generalized = strstr(name, "gvx") != NULL,
            expert = strstr(name, "evx") != NULL, robust = strstr(name, "evr") != NULL;
  const int one = 1, query = -1;
  struct Matrix a = {.seed = next(1000), .triangle = (char)(uplo | 0x20), .symmetric = complex_type ? 2 : 1};
  make(&a, n, n, 1, NULL);
  int* d = a.descriptor; /* a whole matrix */
  free(a.data), a.row = a.column = 1, d[2] = d[3] = n;
  a.local_rows = numroc_(&n, &d[4], &place[0], &d[6], &sides[0]);
  a.local_columns = numroc_(&n, &d[5], &place[1], &d[7], &sides[1]);
  d[8] = a.local_rows + 1;
  struct Matrix b = like(&a, a.seed + 500), z = like(&a, 0), kept, metric;
  b.diagonal = n;
  a.data = calloc((size_t)d[8] * (size_t)(a.local_columns + 1), element_bytes());
  fill(&a), fill(&b);
  kept = like(&a, a.seed), fill(&kept), metric = like(&b, b.seed), fill(&metric);
  if (!comparing) return;
  double found_size[2] = {0, 0}, real_size = 0, tolerance[1] = {0}, orthogonality[1] = {0};
  int integer_size = 0, info = -77, found = 0, vectors = 0;
  const int ranks = sides[0] * sides[1];
  char *values = calloc((size_t)n, 8), *gaps = calloc((size_t)ranks, 8);
  int *failed = calloc((size_t)n, sizeof(int)), *clusters = calloc((size_t)(2 * ranks), sizeof(int));
  const Function itself = function(name);
  snprintf(call, sizeof call, "%c%s %c n=%d", "sdcz"[type], name, uplo, n);
  char *work = (char*)found_size, *real_work = (char*)&real_size;
  int *integers = &integer_size, length = query, real_length = query, integer_length = query;
  for (int round = 0; round < 2; ++round) {
    if (round == 1) {
      length = (int)real_at(work, 0) + 4 * n * n + 100,
      real_length = complex_type ? (int)real_at(real_work, 0) + 2 * n * n + 100 : 0;
      integer_length = integer_size + 100;
      work = malloc((size_t)length * element_bytes()), real_work = malloc((size_t)real_length * 8 + 8);
      integers = malloc((size_t)integer_length * sizeof(int));
    }
    if (generalized && complex_type)
      itself(&one, &job, &range, &uplo, &n, OF(a), OF(b), tolerance, tolerance, &one, &n, tolerance, &found, &vectors,
             values, orthogonality, OF(z), work, &length, real_work, &real_length, integers, &integer_length, failed,
             clusters, gaps, &info, 1L, 1L, 1L);
    else if (generalized)
      itself(&one, &job, &range, &uplo, &n, OF(a), OF(b), tolerance, tolerance, &one, &n, tolerance, &found, &vectors,
             values, orthogonality, OF(z), work, &length, integers, &integer_length, failed, clusters, gaps, &info, 1L,
             1L, 1L);
    else if (expert && complex_type)
      itself(&job, &range, &uplo, &n, OF(a), tolerance, tolerance, &one, &n, tolerance, &found, &vectors, values,
             orthogonality, OF(z), work, &length, real_work, &real_length, integers, &integer_length, failed, clusters,
             gaps, &info, 1L, 1L, 1L);
    else if (expert)
      itself(&job, &range, &uplo, &n, OF(a), tolerance, tolerance, &one, &n, tolerance, &found, &vectors, values,
             orthogonality, OF(z), work, &length, integers, &integer_length, failed, clusters, gaps, &info, 1L, 1L, 1L);
    else if (robust && complex_type)
      itself(&job, &range, &uplo, &n, OF(a), tolerance, tolerance, &one, &n, &found, &vectors, values, OF(z), work,
             &length, real_work, &real_length, integers, &integer_length, &info, 1L, 1L, 1L);
    else if (robust)
      itself(&job, &range, &uplo, &n, OF(a), tolerance, tolerance, &one, &n, &found, &vectors, values, OF(z), work,
             &length, integers, &integer_length, &info, 1L, 1L, 1L);
    else if (divided && complex_type)
      itself(&job, &uplo, &n, OF(a), values, OF(z), work, &length, real_work, &real_length, integers, &integer_length,
             &info, 1L, 1L);
    else if (divided)
      itself(&job, &uplo, &n, OF(a), values, OF(z), work, &length, integers, &integer_length, &info, 1L, 1L);
    else if (complex_type)
      itself(&job, &uplo, &n, OF(a), values, OF(z), work, &length, real_work, &real_length, &info, 1L, 1L);
    else
      itself(&job, &uplo, &n, OF(a), values, OF(z), work, &length, &info, 1L, 1L);
  }
  const double epsilon = type % 2 == 0 ? 6e-8 : 1.2e-16;
  if (info == 0 && !generalized && !expert && !robust && !divided) { /* the values alone are the same */
    const struct Wanted none = wanted(&z, 'N');
    char* const alone = calloc((size_t)n, 8);
    fill(&a);
    if (complex_type)
      itself("N", &uplo, &n, OF(a), alone, OF_WANTED(none), work, &length, real_work, &real_length, &info, 1L, 1L);
    else
      itself("N", &uplo, &n, OF(a), alone, OF_WANTED(none), work, &length, &info, 1L, 1L);
    for (int i = 0; i < n && info == 0; ++i)
      if (!(fabs(real_at(alone, i) - real_at(values, i)) <= epsilon * 200 * n)) info = -99;
    free(alone);
  }
  const double worst = residual(&kept, generalized ? &metric : NULL, &z, values, uplo);
  int right = info == 0 && worst <= epsilon * 200 * n;
  for (int i = 1; i < n; ++i) right = right && real_at(values, i) >= real_at(values, i - 1);
  if (!right && comparing)
    printf("rank %d: %s: info %d, the residual is %.1e\n", rank, call, info, worst), different = 1;
  free(a.data), free(b.data), free(z.data), free(kept.data), free(metric.data), free(values), free(gaps), free(failed);
  free(clusters), free(work), free(real_work), free(integers);
}

/* Makes whole matrices of one layout, filled with zeros. */
static struct Matrix whole(const struct Matrix* layout, int rows, int columns) {
  struct Matrix m = *layout;
  int* d = m.descriptor;
  m.row = m.column = 1, m.rows = d[2] = rows, m.columns = d[3] = columns;
  m.local_rows = numroc_(&rows, &d[4], &place[0], &d[6], &sides[0]);
  m.local_columns = numroc_(&columns, &d[5], &place[1], &d[7], &sides[1]);
  d[8] = m.local_rows + 1;
  m.data = calloc((size_t)d[8] * (size_t)(m.local_columns + 1), element_bytes());
  return m;
}

/* Computes singular values and vectors, and checks the product. Records nothing, as one_eigenproblem(): ScaLAPACK's
 * p?lared1d takes the grid's first process for the matrix's. */
static void one_decomposition(int rows, int columns) {
  const char job = next(4) == 0 ? 'N' : 'V';
  const int least = rows < columns ? rows : columns, most = rows < columns ? columns : rows;
  struct Matrix a = {.seed = next(1000)};
  make(&a, rows, columns, 1, NULL), free(a.data);
  if (reliable) a.descriptor[6] = a.descriptor[7] = 0;
  a = whole(&a, rows, columns);
  struct Matrix kept = whole(&a, rows, columns), u = whole(&a, rows, least), vt = whole(&a, least, columns);
  fill(&a), fill(&kept);
  for (int j = 0; j < a.local_columns; ++j) /* the padding is NaN */
    set(kept.data + ((size_t)j * (size_t)a.descriptor[8] + (size_t)a.local_rows) * element_bytes(), 0, 0);
  if (!comparing) return;
  char *values = calloc((size_t)most, 8), *real_work = calloc((size_t)(8 * most + 8), 8), *work = calloc(2, 8);
  int length = -1, info = -77;
  const Function itself = function("gesvd");
  /* Vectors that are not wanted are not looked at. */
  const struct Wanted vectors[] = {wanted(&u, job), wanted(&vt, job)};
  for (int round = 0; round < 2; ++round) {
    if (round == 1) {
      length = (int)real_at(work, 0) + 100;
      free(work), work = malloc((size_t)length * element_bytes());
    }
    if (type >= 2)
      itself(&job, &job, &rows, &columns, OF(a), values, OF_WANTED(vectors[0]), OF_WANTED(vectors[1]), work, &length,
             real_work, &info, 1L, 1L);
    else
      itself(&job, &job, &rows, &columns, OF(a), values, OF_WANTED(vectors[0]), OF_WANTED(vectors[1]), work, &length,
             &info, 1L, 1L);
  }
  const int* d = u.descriptor;
  double worst = 0, norm = 0;
  for (int i = 0; i < least; ++i) norm += real_at(values, i) * real_at(values, i);
  double squares = 0;
  for (int j = 0; j < kept.local_columns; ++j)
    for (int i = 0; i < kept.local_rows; ++i)
      for (int part = 0; part <= type / 2; ++part) {
        const size_t at = ((size_t)i + (size_t)j * (size_t)kept.descriptor[8]) * element_bytes();
        squares += real_at(kept.data + at, part) * real_at(kept.data + at, part);
      }
  MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (job == 'V') {
    for (int j = 0; j < u.local_columns; ++j)
      for (int i = 0; i < u.local_rows; ++i) {
        scale(u.data + ((size_t)i + (size_t)j * (size_t)d[8]) * element_bytes(),
              real_at(values, global_index(j, 1, d)));
      }
    char one[16], minus[16];
    set(one, 1, 0), set(minus, -1, 0);
    function("gemm")("N", "N", &rows, &columns, &least, minus, OF(u), OF(vt), one, OF(kept), 1L, 1L);
    for (int j = 0; j < kept.local_columns; ++j)
      for (int i = 0; i < kept.local_rows; ++i) {
        const double left =
            fabs(real_at(kept.data + ((size_t)i + (size_t)j * (size_t)kept.descriptor[8]) * element_bytes(), 0));
        if (!(left <= worst)) worst = left;
      }
  }
  const double epsilon = type % 2 == 0 ? 6e-8 : 1.2e-16;
  const int right =
      info == 0 && worst <= epsilon * 200 * most && fabs(norm - squares) <= epsilon * 200 * most * squares;
  snprintf(call, sizeof call, "%cgesvd %c m=%d n=%d", "sdcz"[type], job, rows, columns);
  if (!right) {
    printf("rank %d: %s: info %d, the residual is %.1e\n", rank, call, info, worst), different = 1;
    fflush(stdout);
  }
  free(a.data), free(kept.data), free(u.data), free(vt.data), free(values), free(work), free(real_work);
}

/* Element (i, j) of the whole matrix of which a triangle is given. */
static double complex whole_element(const struct Matrix* m, int i, int j) {
  struct Matrix both = *m;
  char element[16];
  both.triangle = 0;
  set_element(&both, element, i, j);
  return real_at(element, 0) + (type >= 2 ? I * real_at(element, 1) : 0);
}

/* inv(L) A inv(L)^H, or L^H A L, on every rank. */
static double complex* reduced(const struct Matrix* a, const struct Matrix* b, int itype) {
  const int n = a->rows;
  double complex *c = malloc(sizeof *c * (size_t)(n * n)), *column = malloc(sizeof *c * (size_t)n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) c[i + j * n] = whole_element(a, i, j);
  for (int pass = 0; pass < 2; ++pass) /* from the left, then the same with the adjoint of the result */
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) column[i] = pass == 0 ? c[i + j * n] : c[j + i * n];
      if (pass == 1)
        for (int i = 0; i < n; ++i) column[i] = conj(column[i]);
      for (int i = 0; i < n; ++i) {
        double complex sum = itype == 1 ? column[i] : 0;
        for (int k = 0; k < i && itype == 1; ++k) sum -= whole_element(b, i, k) * column[k];
        for (int k = i; k < n && itype != 1; ++k) sum += conj(whole_element(b, k, i)) * column[k];
        column[i] = itype == 1 ? sum / whole_element(b, i, i) : sum;
      }
      for (int i = 0; i < n; ++i)
        if (pass == 0)
          c[i + j * n] = column[i];
        else
          c[j + i * n] = conj(column[i]);
    }
  free(column);
  return c;
}

/* Reduces a generalized eigenproblem, and checks the result itself. Records nothing: ScaLAPACK 2.2.1 may return
 * NaN or wrong elements where the two sub-matrices begin at different elements. */
static void one_reduction(const char* name, int n) {
  const char uplo = one_of("ULul");
  const int itype = 1 + (int)next(3), none = -1;
  const char triangle = (char)(uplo | 0x20);
  struct Matrix a = {.seed = next(1000), .triangle = triangle, .symmetric = type >= 2 ? 2 : 1};
  struct Matrix b = {
      .seed = 1000 + next(1000), .triangle = triangle, .symmetric = a.symmetric, .diagonal = 4 + (double)n / 4};
  make(&a, n, n, 1, NULL), make(&b, n, n, 2, &a);
  if (!comparing) {
    free(a.data), free(b.data);
    return;
  }
  char scale[8] = {0}, size[16];
  int info = -77, length = 0;
  const Function itself = function(name);
  snprintf(call, sizeof call, "%c%s %d %c n=%d", "sdcz"[type], name, itype, uplo, n);
  if (strstr(name, "ngst") == NULL) {
    itself(&itype, &uplo, &n, OF(a), OF(b), scale, &info, 1L);
  } else {
    itself(&itype, &uplo, &n, OF(a), OF(b), scale, size, &none, &info, 1L);
    length = (int)real_at(size, 0);
    char* const work = malloc((size_t)length * element_bytes());
    itself(&itype, &uplo, &n, OF(a), OF(b), scale, work, &length, &info, 1L);
    free(work);
  }
  double complex* const expected = reduced(&a, &b, itype);
  double largest = 1, worst = 0;
  for (int i = 0; i < n * n; ++i) largest = fmax(largest, cabs(expected[i]));
  const int* d = a.descriptor;
  for (int j = 0; j < a.local_columns; ++j)
    for (int i = 0; i < d[8]; ++i) {
      const char* const element = a.data + ((size_t)i + (size_t)j * (size_t)d[8]) * element_bytes();
      const int row = global_index(i, 0, d) - (a.row - 1), column = global_index(j, 1, d) - (a.column - 1);
      const int inside = i < a.local_rows && row >= 0 && column >= 0 && row < n && column < n;
      const int used = inside && (triangle == 'u' ? row <= column : row >= column);
      for (int part = 0; part <= type / 2; ++part) {
        const double is = real_at(element, part);
        const double complex wanted = used ? expected[row + column * n] : 0;
        const double error = used ? fabs(is - (part == 0 ? creal(wanted) : cimag(wanted))) : isnan(is) ? 0 : INFINITY;
        if (!(error <= worst)) worst = error;
      }
    }
  const double epsilon = type % 2 == 0 ? 6e-8 : 1.2e-16;
  if (info != 0 || real_at(scale, 0) != 1 || !(worst <= epsilon * 30 * (n + 4) * largest))
    printf("rank %d: %s: info %d, scale %g, the error is %.1e\n", rank, call, info, real_at(scale, 0), worst),
        different = 1;
  free(a.data), free(b.data), free(expected);
}

static void check_factors(const struct Matrix* m, int count, const char* factors, double tolerance) {
  const int* d = m->descriptor;
  for (int j = m->column - 1; j < m->column - 1 + count; ++j)
    if (owner_side(j, d[5], d[7], sides[1]) == place[1])
      check_numbers("tau", factors + (size_t)(j / d[5] / sides[1] * d[5] + j % d[5]) * element_bytes(), element_bytes(),
                    tolerance);
}

/* Reflectors of a random matrix, made explicit or multiplied with another matrix. */
static void one_of_reflectors(const char* name, int largest, double tolerance) {
  struct Matrix a = {.seed = next(1000)}, c = {.seed = 2000 + next(1000)};
  const int multiplies = strstr(name, "mqr") != NULL, alone = strcmp(name, "geqrf") == 0;
  const char side = one_of("LR"), trans = one_of(type >= 2 ? "NC" : "NT");
  int m = dimension(largest), n = dimension(largest), info = -77, none = -1;
  const int order = multiplies ? (side == 'L' ? m : n) : m;
  const int k = alone ? (m < n ? m : n) : dimension(order < n || multiplies ? order : n);
  if (!alone && !multiplies && n > m) n = m;
  const int reflectors = k < n || multiplies ? k : n; /* of the columns that are factorized */
  const int columns = alone ? n : reflectors;
  make(&a, order, multiplies ? k : n, multiplies, NULL);
  if (multiplies) make(&c, m, n, 1, &a);
  char size[16], *const factors = calloc((size_t)(a.local_columns + a.descriptor[5] + 1), element_bytes());
  function("geqrf")(&order, &columns, OF(a), factors, size, &none, &info);
  int length = (int)real_at(size, 0) + 10;
  char* work = malloc((size_t)length * element_bytes());
  function("geqrf")(&order, &columns, OF(a), factors, work, &length, &info);
  snprintf(call, sizeof call, "%c%s %c%c m=%d n=%d k=%d", "sdcz"[type], name, side, trans, m, n, reflectors);
  for (int round = 0; round < 2 && !alone; ++round) {
    if (multiplies)
      function(name)(&side, &trans, &m, &n, &reflectors, OF(a), factors, OF(c), round == 0 ? size : work,
                     round == 0 ? &none : &length, &info, 1L, 1L);
    else
      function(name)(&m, &n, &reflectors, OF(a), factors, round == 0 ? size : work, round == 0 ? &none : &length,
                     &info);
    if (round == 0) length = (int)real_at(size, 0) + 10, work = realloc(work, (size_t)length * element_bytes());
  }
  check_integers("info", &info, 1);
  check_matrix("A", &a, tolerance), check_factors(&a, reflectors, factors, tolerance);
  if (multiplies) check_matrix("C", &c, tolerance), free(c.data);
  free(a.data), free(factors), free(work);
}

static void one_call(int routine, int largest) {
  static const char* const plain_letters = "NTC";
  struct Matrix a = {.seed = next(1000)}, b = {.seed = 1000 + next(1000)}, c = {.seed = 2000 + next(1000)};
  const char* const name = names[routine];
  const int complex_type = type >= 2, hermitian = strncmp(name, "he", 2) == 0;
  int m = dimension(largest), n = dimension(largest), k = dimension(largest), info = -77;
  const int nrhs = dimension(largest);
  const char side = one_of("LR"), uplo = one_of("ULul"), diag = one_of("NU");
  char trans = one_of(plain_letters), trans_b = one_of("NTCntc");
  double alpha[2], beta[2] = {0, 0};
  char *alpha_address = (char*)alpha, *beta_address = (char*)beta;
  set(alpha_address, noise(7, m, n) * 2, noise(8, m, n));
  const int no_beta = next(3) == 0;
  if (!no_beta) set(beta_address, noise(9, m, n) * 2, hermitian ? 0 : noise(10, m, n));
  if (hermitian && strcmp(name, "herk") == 0) set(alpha_address, noise(7, m, n) * 2, 0);
  const char triangle = (char)(uplo | 0x20);
  int* pivots = NULL;
  int pivot_count = 0;
  const Function function_itself = function(name);
  const double epsilon = type % 2 == 0 ? 6e-8 : 1.2e-16;
  double tolerance = epsilon * 8 * (m + n + k + nrhs);
  int has_b = 0, has_c = 0;
  a.symmetric = b.symmetric = c.symmetric = 0;
  switch (kinds[routine]) {
    case GEMM:
      make(&a, trans == 'N' ? m : k, trans == 'N' ? k : m, 0, NULL);
      make(&b, (trans_b | 0x20) == 'n' ? k : n, (trans_b | 0x20) == 'n' ? n : k, 0, NULL);
      make(&c, m, n, 0, NULL), has_b = has_c = 1;
      snprintf(call, sizeof call, "%c%s %c%c m=%d n=%d k=%d", "sdcz"[type], name, trans, trans_b, m, n, k);
      function_itself(&trans, &trans_b, &m, &n, &k, alpha, OF(a), OF(b), beta, OF(c), 1L, 1L);
      break;
    case SYMM:
      a.triangle = triangle;
      if (hermitian) a.symmetric = 2;
      make(&a, side == 'L' ? m : n, side == 'L' ? m : n, 0, NULL);
      make(&b, m, n, 0, NULL), make(&c, m, n, 0, NULL), has_b = has_c = 1;
      snprintf(call, sizeof call, "%c%s %c%c m=%d n=%d", "sdcz"[type], name, side, uplo, m, n);
      function_itself(&side, &uplo, &m, &n, alpha, OF(a), OF(b), beta, OF(c), 1L, 1L);
      break;
    case SYRK:
    case SYR2K:
      trans = one_of(!complex_type ? plain_letters : hermitian ? "NC" : "NT");
      make(&a, trans == 'N' ? n : k, trans == 'N' ? k : n, 0, NULL);
      c.triangle = triangle, c.symmetric = hermitian ? 2 : 0;
      make(&c, n, n, 0, NULL), has_c = 1;
      snprintf(call, sizeof call, "%c%s %c%c n=%d k=%d", "sdcz"[type], name, uplo, trans, n, k);
      if (kinds[routine] == SYR2K) {
        make(&b, trans == 'N' ? n : k, trans == 'N' ? k : n, 0, NULL), has_b = 1;
        function_itself(&uplo, &trans, &n, &k, alpha, OF(a), OF(b), beta, OF(c), 1L, 1L);
      } else {
        function_itself(&uplo, &trans, &n, &k, alpha, OF(a), beta, OF(c), 1L, 1L);
      }
      break;
    case TRMM:
      a.triangle = triangle, a.diagonal = 4 + (side == 'L' ? m : n) / 4;
      make(&a, side == 'L' ? m : n, side == 'L' ? m : n, 0, NULL);
      if (diag == 'U') scale_all(&a, 1.0 / (m + n));
      make(&b, m, n, 0, NULL), has_b = 1;
      snprintf(call, sizeof call, "%c%s %c%c%c%c m=%d n=%d", "sdcz"[type], name, side, uplo, trans, diag, m, n);
      function_itself(&side, &uplo, &trans, &diag, &m, &n, alpha, OF(a), OF(b), 1L, 1L, 1L, 1L);
      break;
    case POTRF:
    case POTRS:
    case POSV:
      a.triangle = triangle, a.symmetric = complex_type ? 2 : 1, a.diagonal = next(6) == 0 ? 0 : n;
      make(&a, n, n, 1, NULL);
      if (kinds[routine] == POTRS || kinds[routine] == POSV) make(&b, n, nrhs, 0, &a), has_b = 1;
      snprintf(call, sizeof call, "%c%s %c n=%d nrhs=%d", "sdcz"[type], name, uplo, n, nrhs);
      if (kinds[routine] == POTRS || strcmp(name, "potri") == 0) {
        function("potrf")(&uplo, &n, OF(a), &info, 1L);
        if (info != 0) snprintf(call, sizeof call, "not definite"), has_b = 0;
      }
      if (info == 0 || info == -77) {
        if (has_b)
          function_itself(&uplo, &n, &nrhs, OF(a), OF(b), &info, 1L);
        else
          function_itself(&uplo, &n, OF(a), &info, 1L);
      }
      tolerance *= 4;
      break;
    case REDUCTION: one_reduction(name, n); return;
    case EIGEN: one_eigenproblem(name, n); return;
    case GESVD: one_decomposition(m, n); return;
    case QR: one_of_reflectors(name, largest, tolerance * 300); return;
    case GELS: {
      trans = next(4) != 0 ? 'N' : complex_type ? 'C' : 'T';
      const int most = m < n ? n : m, none = -1;
      a.diagonal = 6;
      make(&a, m, n, 1, NULL), make(&b, most, nrhs, 0, &a), has_b = 1;
      char size[16];
      function_itself(&trans, &m, &n, &nrhs, OF(a), OF(b), size, &none, &info, 1L);
      const int length = (int)real_at(size, 0) + 100 * (m + n + nrhs); /* its query asks for too little */
      char* const work = malloc((size_t)length * element_bytes());
      snprintf(call, sizeof call, "%c%s %c m=%d n=%d nrhs=%d", "sdcz"[type], name, trans, m, n, nrhs);
      function_itself(&trans, &m, &n, &nrhs, OF(a), OF(b), work, &length, &info, 1L);
      free(work);
      tolerance *= 300;
      break;
    }
    case TRTRI:
      a.triangle = triangle, a.diagonal = 4 + n / 4;
      make(&a, n, n, 1, NULL);
      if (diag == 'U') scale_all(&a, 0.5 / n);
      snprintf(call, sizeof call, "%c%s %c%c n=%d", "sdcz"[type], name, uplo, diag, n);
      function_itself(&uplo, &diag, &n, OF(a), &info, 1L, 1L);
      break;
    case GETRF:
    case GETRS:
    case GESV:
      if (kinds[routine] != GETRF || nrhs % 2 == 0) m = n;
      a.diagonal = kinds[routine] == GETRF ? 0 : 1;
      if (kinds[routine] != GETRS && a.seed % 4 == 0) a.empty = 1 + (int)(a.seed / 4) % n; /* it is singular */
      make(&a, m, n, 1, NULL);
      if (kinds[routine] != GETRF) make(&b, n, nrhs, 0, &a), has_b = 1;
      pivot_count = a.local_rows + a.descriptor[4];
      pivots = malloc(sizeof(int) * (size_t)(pivot_count + 1));
      for (int i = 0; i < pivot_count; ++i) pivots[i] = -5;
      snprintf(call, sizeof call, "%c%s %c m=%d n=%d nrhs=%d", "sdcz"[type], name, trans, m, n, nrhs);
      if (kinds[routine] == GESV) {
        function_itself(&n, &nrhs, OF(a), pivots, OF(b), &info);
      } else {
        function("getrf")(&m, &n, OF(a), pivots, &info);
        if (kinds[routine] == GETRS) function_itself(&trans, &n, &nrhs, OF(a), pivots, OF(b), &info, 1L);
      }
      tolerance *= 300; /* the condition of a random matrix */
      break;
  }
  check_integers("info", &info, 1);
  check_matrix("A", &a, tolerance), free(a.data);
  if (has_b) check_matrix("B", &b, tolerance), free(b.data);
  if (has_c) check_matrix("C", &c, tolerance), free(c.data);
  if (pivots != NULL) check_pivots(&a, m < n ? m : n, pivots), free(pivots);
}

extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*);

static void own_product(void) {
  enum { order = 48 };
  static double a[order * order], b[order * order], c[order * order];
  const int n = order;
  const double one = 1, none = 0;
  for (int i = 0; i < order * order; ++i) a[i] = i % 7, b[i] = i % 5;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &none, c, &n);
  for (int i = 0; i < order * order; ++i) {
    for (int k = 0; k < order; ++k) c[i] -= a[i % order + k * order] * b[k + i / order * order];
    if (c[i] != 0) different = 1;
  }
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count < 8) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < 2; ++i) sides[i] = atoi(arguments[1 + i]);
  state = 88172645463325252ull + (unsigned long long)atoi(arguments[3]) * 7919;
  comparing = strcmp(arguments[6], "compare") == 0;
  reliable = count > 8 && strcmp(arguments[8], "reliable") == 0;
  char path[4000];
  snprintf(path, sizeof path, "%s.%d", arguments[7], rank);
  record = fopen(path, comparing ? "rb" : "wb");
  if (record == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  Cblacs_get(-1, 0, &grid);
  Cblacs_gridinit(&grid, "R", sides[0], sides[1]);
  Cblacs_gridinfo(grid, &sides[0], &sides[1], &place[0], &place[1]);
  for (int i = 0; i < 200; ++i) next(2);
  for (int i = 0; i < atoi(arguments[4]); ++i) {
    if (getenv("OWN_PRODUCTS") != NULL) own_product();
    const int routine = (int)next(ROUTINES);
    type = (int)next(4);
    const int hermitian = strncmp(names[routine], "he", 2) == 0;
    const char* const name = names[routine];
    const int unitary = hermitian || strncmp(name, "un", 2) == 0, by_type = strncmp(name, "or", 2) == 0;
    const int spectral = kinds[routine] >= REDUCTION;
    const int exists = by_type || spectral ? unitary == (type >= 2) : type >= 2 || !unitary;
    /* The product of complex vectors in OpenBLAS 0.3.21 reads past the end of a matrix, which ends the simulated
     * device's memory at times. */
    const int harmless = type < 2 || strcmp(names[routine], "potri") != 0;
    int meant = count < 9 || (reliable && !spectral);
    for (int k = 8; k < count; ++k) meant = meant || strcmp(arguments[k], names[routine]) == 0;
    if (exists && harmless && meant) one_call(routine, atoi(arguments[5]));
  }
  MPI_Allreduce(MPI_IN_PLACE, &different, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", different ? "DIFFERENT" : "same");
  fclose(record);
  Cblacs_gridexit(grid);
  MPI_Finalize();
  return different;
}
