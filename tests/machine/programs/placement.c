// Checks where a coherent machine's matrices are while the device uses them. Usage: counted placement CASE
#define _GNU_SOURCE
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include "counts.h"
#include "pages.h"
#include "scenario.h"

enum { N = 128, COUNT = N * N, BYTES = COUNT * sizeof(double) };

static struct counts* counts;

static double* map(size_t bytes, int flags) {
  void* address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) abort();
  return address;
}

/// Three matrices in one mapping, with other pages before, between and behind them.
struct operands {
  char* mapping;
  size_t bytes;
  double *a, *b, *c;
};

enum { GAP = 3 };  // number of other pages

static struct operands make_operands(void) {
  const size_t page = page_bytes(), matrix = (BYTES + page - 1) / page * page;
  struct operands made = {.bytes = 3 * matrix + 4 * GAP * page};
  made.mapping = (char*)map(made.bytes, MAP_PRIVATE);
  memset(made.mapping, 7, made.bytes);
  double** const operands[] = {&made.a, &made.b, &made.c};
  for (size_t i = 0; i < 3; ++i) {
    *operands[i] = (double*)(made.mapping + GAP * page + i * (matrix + GAP * page));
    fill(*operands[i], COUNT, (unsigned)i);
  }
  return made;
}

static int others_stayed(const struct operands* all) {
  const size_t page = page_bytes(), matrix = (BYTES + page - 1) / page * page;
  int stayed = 1;
  for (size_t i = 0; i < 4; ++i) stayed &= all_on(CPU_NODE, all->mapping + i * (matrix + GAP * page), GAP * page);
  return stayed;
}

static int uses(const struct operands* all) {
  return multiplies(N, N, N, all->a, N, all->b, N, 0.0, all->c, N);
}

static int operands_on(int node, const struct operands* all) {
  return all_on(node, all->a, BYTES) && all_on(node, all->b, BYTES) && all_on(node, all->c, BYTES);
}

static void first_use(void) {
  const struct operands all = make_operands();
  const size_t pages = 3 * pages_of(all.a, BYTES);
  verdict("before: all pages on the CPU's node", all_on(CPU_NODE, all.mapping, all.bytes));
  verdict("the first use", uses(&all));
  verdict("the operands' pages on the device's node", operands_on(DEVICE_NODE, &all));
  verdict("no others", others_stayed(&all));
  const size_t listed = of_mapping("numa_maps", all.mapping, " N1=");
  verdict("and as many in numa_maps", listed == pages);
  const unsigned long moves = counts->moves;
  verdict("by move_pages", moves > 0);
  int right = 1;
  unsigned long calls = ULONG_MAX;  // the fewest system calls of a use, since once a second a use also writes counters
  for (int i = 0; i < 4; ++i) {
    const unsigned long before = system_calls(counts);
    multiply(N, N, N, all.a, N, all.b, N, 0.0, all.c, N);
    const unsigned long made = system_calls(counts) - before;
    if (made < calls) calls = made;
    right &= holds_product(N, N, N, all.a, N, all.b, N, 0.0, NULL, all.c, N);
  }
  verdict("later uses", right);
  verdict("later uses move nothing", counts->moves == moves);
  verdict("later uses make no system call for memory", calls == 0);
  if (calls) printf("%lu system calls in each of 4 uses\n", calls);
  right = 1;
  for (unsigned round = 10; round < 13; ++round) {
    fill(all.a, COUNT, round);
    all.c[round] = round;
    right &= uses(&all);
    right &= multiplies(N, N, N, all.c, N, all.b, N, 1.0, all.a, N);
  }
  verdict("the CPU reads and writes there", right);
  verdict("they stay there", operands_on(DEVICE_NODE, &all) && others_stayed(&all));
}

/// The device uses matrices where they are.
static void stay(void) {
  const struct operands all = make_operands();
  int right = 1;
  for (unsigned round = 0; round < 4; ++round) {
    fill(all.a, COUNT, round);
    right &= uses(&all);
  }
  verdict("results", right);
  verdict("all pages on the CPU's node", all_on(CPU_NODE, all.mapping, all.bytes));
  verdict("no move was tried", counts->moves == 0);
}

/// A block of columns of a large matrix. Each column lies on separate pages, with other pages between them.
static void submatrix(void) {
  enum { ROWS = 600, COLUMNS = 24 };
  const size_t page = page_bytes(), stride = 5 * page;
  const int ld = (int)(stride / sizeof(double));
  double* a = map(COLUMNS * stride, MAP_PRIVATE);
  double* b = filled(COUNT, 1);
  double* c = filled(COUNT, 2);
  memset(a, 0, COLUMNS * stride);
  for (int column = 0; column < COLUMNS; ++column) fill(a + (size_t)column * ld, ROWS, (unsigned)column);
  int right = 1, there = 1, others = 1;
  for (int round = 0; round < 3; ++round) right &= multiplies(8, COLUMNS, ROWS, b, 8, a, ld, 0.0, c, 8);
  verdict("results", right);
  for (int column = 0; column < COLUMNS; ++column) {
    const char* begin = (const char*)a + (size_t)column * stride;
    const size_t used = pages_of(begin, ROWS * sizeof(double)) * page;
    there &= all_on(DEVICE_NODE, begin, used);
    others &= all_on(CPU_NODE, begin + used, stride - used);
  }
  verdict("the pages of the columns on the device's node", there);
  verdict("those between them not", others);
}

/// Other memory is mapped at addresses that were moved.
static void gone(void) {
  const size_t page = page_bytes(), bytes = (BYTES + page - 1) / page * page;
  double* b = filled(COUNT, 1);
  double* c = filled(COUNT, 2);
  double* a = map(bytes, MAP_PRIVATE);
  int right = 1, there = 1;
  for (unsigned round = 0; round < 4; ++round) {
    fill(a, COUNT, round);
    right &= multiplies(N, N, N, a, N, b, N, 0.0, c, N);
    there &= all_on(DEVICE_NODE, a, BYTES);
    if (round % 2) {
      munmap(a, bytes);
      if (mmap(a, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != a)
        abort();
    } else {
      madvise(a, bytes, MADV_DONTNEED);
    }
  }
  verdict("results", right);
  verdict("new memory at known addresses on the device's node", there);
}

static size_t huge_page_bytes(void) {
  FILE* text = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
  size_t bytes = 0;
  if (!text || fscanf(text, "%zu", &bytes) != 1) abort();
  fclose(text);
  return bytes;
}

static void huge_pages(void) {
  const size_t huge = huge_page_bytes(), bytes = 2 * huge;
  char* mapping = (char*)map(bytes + huge, MAP_PRIVATE);
  char* matrix = (char*)(((uintptr_t)mapping + huge - 1) / huge * huge);
  enum { COLUMNS = 256, RESULT_COLUMNS = 2 };
  const int rows = (int)(bytes / sizeof(double) / COLUMNS);
  double* a = (double*)matrix;
  double* b = filled(COLUMNS * RESULT_COLUMNS, 1);
  double* c = filled((size_t)rows * RESULT_COLUMNS, 2);
  fill(a, bytes / sizeof(double), 3);
  verdict("before: huge pages", of_mapping("smaps", matrix, "AnonHugePages:") >= bytes >> 10);
  int right = 1;
  for (int round = 0; round < 3; ++round) {
    right &= multiplies(rows, RESULT_COLUMNS, COLUMNS, a, rows, b, COLUMNS, 0.0, c, rows);
    a[(size_t)round * 40000] += 1.0;
  }
  verdict("results", right);
  verdict("all of it on the device's node", all_on(DEVICE_NODE, matrix, bytes));
  verdict("still huge pages", of_mapping("smaps", matrix, "AnonHugePages:") >= bytes >> 10);
}

static void locked(void) {
  const struct operands all = make_operands();
  if (mlock(all.mapping, all.bytes)) abort();
  verdict("results", uses(&all) & uses(&all));
  verdict("locked pages on the device's node", operands_on(DEVICE_NODE, &all) && others_stayed(&all));
  verdict("still locked", of_mapping("smaps", all.mapping, "Locked:") >= all.bytes >> 10);
}

/// AutoNUMA takes pages back to the node of the CPUs that use them.
static void balanced(void) {
  const struct operands all = make_operands();
  int right = 1;
  size_t back = 0;
  for (unsigned round = 0; round < 100 && !back; ++round) {
    fill(all.a, COUNT, round);
    right &= uses(&all);
    usleep(20000);
    back = pages_on(CPU_NODE, all.a, BYTES);
  }
  printf("%zu pages were taken back\n", back);
  verdict("results", right);
}

static double* placed(double* matrix, int* where) {
  *where &= (uintptr_t)matrix % page_bytes() == 0 && all_on(DEVICE_NODE, matrix, BYTES);
  return matrix;
}

/// Blocks of malloc that are bound to the device's node before their first touch.
static void at_malloc(void) {
  int there = 1;
  double* a = placed(filled(COUNT, 1), &there);
  double* b = placed(memset(calloc(COUNT, sizeof(double)), 1, BYTES), &there);
  double* c = placed(memset(aligned_alloc(64, BYTES), 0, BYTES), &there);
  char* small = memset(malloc(5000), 1, 5000);
  verdict("large blocks on pages of their own on the device's node", there);
  verdict("small ones not", all_on(CPU_NODE, small, 5000));
  fill(b, COUNT, 2);
  int right = 1;
  for (int round = 0; round < 3; ++round) {
    right &= multiplies(N, N, N, a, N, b, N, 0.0, c, N);
    a[round * 1000] += 1.0;
  }
  a = realloc(a, 8 * BYTES);
  fill(a, 8 * COUNT, 4);
  right &= multiplies(N, N, N, a + 7 * COUNT, N, b, N, 0.0, c, N);
  verdict("results", right);
  verdict("what realloc grows too", all_on(DEVICE_NODE, a, 8 * BYTES));
  verdict("nothing was moved", counts->moves == 0);
  free(a), free(b), free(c), free(small);
  double* again = placed(filled(COUNT, 5), &there);
  verdict("blocks after a free", there && multiplies(N, N, N, again, N, again, N, 0.0, filled(COUNT, 6), N));
}

/// Blocks that malloc only aligns. They move at their first use like other memory.
static void aligned(void) {
  double* blocks[3];
  int right = 1;
  for (unsigned i = 0; i < 3; ++i) {
    blocks[i] = filled(COUNT, i);
    right &= (uintptr_t)blocks[i] % page_bytes() == 0 && all_on(CPU_NODE, blocks[i], BYTES);
  }
  verdict("large blocks on pages of their own", right);
  verdict("results", multiplies(N, N, N, blocks[0], N, blocks[1], N, 0.0, blocks[2], N));
  right = 1;
  for (unsigned i = 0; i < 3; ++i) right &= all_on(DEVICE_NODE, blocks[i], BYTES);
  verdict("moved at their first use", right);
}

/// Pages that another process maps too stay where they are.
static void shared(void) {
  const struct operands all = make_operands();
  double* common = map(BYTES, MAP_SHARED);
  fill(common, COUNT, 5);
  const pid_t child = fork();
  if (child == 0) {
    volatile double sum = 0;
    for (int i = 0; i < COUNT; i += 64) sum += common[i];
    (void)sum;
    pause();
    _exit(0);
  }
  usleep(200000);         // gives the child time to touch the pages
  fill(all.b, COUNT, 6);  // makes the pages private again
  fill(all.c, COUNT, 7);
  int right = 1;
  for (int round = 0; round < 3; ++round) right &= multiplies(N, N, N, common, N, all.b, N, 0.0, all.c, N);
  verdict("results", right);
  verdict("shared pages on the CPU's node", all_on(CPU_NODE, common, BYTES));
  verdict("the others on the device's node", all_on(DEVICE_NODE, all.b, BYTES) && all_on(DEVICE_NODE, all.c, BYTES));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/// A matrix larger than the free memory on the device's node.
static void full(void) {
  enum { M = 2048, LEFT = 24 << 20 };
  const size_t bytes = (size_t)M * M * sizeof(double);  // 32 MiB
  const size_t available = free_on(DEVICE_NODE);
  if (available > LEFT) memset(bound_memory(available - LEFT, DEVICE_NODE), 1, available - LEFT);
  double* a = map(bytes, MAP_PRIVATE);
  double* b = filled(COUNT, 1);
  double* c = filled(COUNT, 2);
  fill(a, (size_t)M * M, 3);
  int right = 1;
  for (int round = 0; round < 3; ++round) {
    right &= multiplies(M, 1, M, a, M, b, M, 0.0, c, M);
    a[(size_t)round * 500000] += 1.0;
  }
  verdict("results", right);
  const size_t there = pages_on(DEVICE_NODE, a, bytes), here = pages_on(CPU_NODE, a, bytes);
  printf("%zu MiB there, %zu MiB here\n", there * page_bytes() >> 20, here * page_bytes() >> 20);
  verdict("a part on the device's node", there * page_bytes() > 4 << 20);
  verdict("the rest where it was", here > 0 && there + here == pages_of(a, bytes));
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
    {"first-use", first_use}, {"stay", stay},     {"submatrix", submatrix}, {"gone", gone},
    {"huge", huge_pages},     {"locked", locked}, {"balanced", balanced},   {"at-malloc", at_malloc},
    {"aligned", aligned},     {"shared", shared}, {"full", full},
};

int main(int argc, char** argv) {
  counts = shared_counts();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
      cases[i].run();
      return scenario_status();
    }
  }
  return 99;
}
