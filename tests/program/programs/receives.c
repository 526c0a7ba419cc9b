/* Other ranks send data into a matrix between two products with it, in every way in which MPI writes into a rank's
 * memory. Each product is compared with the data. usage: receives [N 200] [ROUNDS 3]. Prints a line for each way, on
 * rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

enum {
  whole_message,
  some_columns,
  one_row,
  few_elements,
  later_message,
  broadcast,
  reduction,
  replacement,
  remote_put,
  ways
};
static const char* const names[ways] = {"whole matrix", "some columns",      "one row",
                                        "few elements", "immediate receive", "broadcast",
                                        "reduction",    "replacement",       "remote put"};

static int n = 200, rank, ranks, before, after;
static size_t elements;
static double *a, *twice, *c, *sent, *expected;
static MPI_Datatype row;
static MPI_Win window;

/* The value that a rank sends for element i. */
static double value(int way, int round, int sender, size_t i) {
  return (double)(way + 1) + 16.0 * round + 256.0 * sender + 1e-3 * (double)(i % 997);
}

static void expect(size_t first, size_t count, size_t step, int way, int round, int sender) {
  for (size_t i = 0; i < count; ++i) expected[first + i * step] = value(way, round, sender, first + i * step);
}

static void receive(int way, int round) {
  const int some = n / 3 * n, tag = way;
  const size_t first = (size_t)(n / 4) * (size_t)n;
  MPI_Request request;
  for (size_t i = 0; i < elements; ++i) sent[i] = value(way, round, rank, i);
  switch (way) {
    case whole_message:
      MPI_Sendrecv(sent, (int)elements, MPI_DOUBLE, after, tag, a, (int)elements, MPI_DOUBLE, before, tag,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(0, elements, 1, way, round, before);
      break;
    case some_columns:
      MPI_Sendrecv(sent + first, some, MPI_DOUBLE, after, tag, a + first, some, MPI_DOUBLE, before, tag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      expect(first, (size_t)some, 1, way, round, before);
      break;
    case one_row:
      MPI_Sendrecv(sent + 7, 1, row, after, tag, a + 7, 1, row, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(7, (size_t)n, (size_t)n, way, round, before);
      break;
    case few_elements:
      MPI_Sendrecv(sent + first, 5, MPI_DOUBLE, after, tag, a + first, 5, MPI_DOUBLE, before, tag, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      expect(first, 5, 1, way, round, before);
      break;
    case later_message:
      MPI_Irecv(a + first, some, MPI_DOUBLE, before, tag, MPI_COMM_WORLD, &request);
      MPI_Send(sent + first, some, MPI_DOUBLE, after, tag, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(first, (size_t)some, 1, way, round, before);
      break;
    case broadcast:
      for (size_t i = 0; rank == 0 && i < elements; ++i) a[i] = sent[i];
      MPI_Bcast(a, (int)elements, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      expect(0, elements, 1, way, round, 0);
      break;
    case reduction:
      MPI_Allreduce(sent, a, (int)elements, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      expect(0, elements, 1, way, round, ranks - 1);
      break;
    case replacement:
      for (size_t i = 0; i < elements; ++i) a[i] = sent[i];
      MPI_Sendrecv_replace(a, (int)elements, MPI_DOUBLE, after, tag, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(0, elements, 1, way, round, before);
      break;
    default:
      MPI_Win_fence(0, window);
      MPI_Put(sent + first, some, MPI_DOUBLE, after, (MPI_Aint)first, some, MPI_DOUBLE, window);
      MPI_Win_fence(0, window);
      expect(first, (size_t)some, 1, way, round, before);
  }
}

/* Multiplies a by 2 I, which is exact; a stays on the device. */
static int product_is_right(void) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, twice, &n, &zero, c, &n);
  for (size_t i = 0; i < elements; ++i)
    if (c[i] != 2 * expected[i]) return 0;
  return 1;
}

int main(int count, char** arguments) {
  const int rounds = count > 2 ? atoi(arguments[2]) : 3;
  int wrong[ways] = {0}, failures = 0;
  if (count > 1) n = atoi(arguments[1]);
  elements = (size_t)n * (size_t)n;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  before = (rank + ranks - 1) % ranks;
  after = (rank + 1) % ranks;
  double** const matrices[] = {&a, &twice, &c, &sent, &expected};
  for (int i = 0; i < 5; ++i) *matrices[i] = calloc(elements, sizeof(double));
  for (int i = 0; i < n; ++i) twice[(size_t)i * (size_t)n + (size_t)i] = 2;
  MPI_Type_vector(n, 1, n, MPI_DOUBLE, &row);
  MPI_Type_commit(&row);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* not all transports of Open MPI have windows */
  const int used = MPI_Win_create(a, (MPI_Aint)(elements * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                                  MPI_COMM_WORLD, &window) == MPI_SUCCESS
                       ? ways
                       : remote_put;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int round = 0; round < rounds; ++round)
    for (int way = 0; way < used; ++way) {
      receive(way, round);
      for (int again = 0; again < 2; ++again) wrong[way] += !product_is_right();
    }
  MPI_Allreduce(MPI_IN_PLACE, wrong, ways, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int way = 0; way < used; ++way) {
    if (rank == 0) printf("%s: %s\n", names[way], wrong[way] == 0 ? "right" : "WRONG");
    failures += wrong[way];
  }
  if (used == ways) MPI_Win_free(&window);
  MPI_Type_free(&row);
  MPI_Finalize();
  return failures != 0;
}
