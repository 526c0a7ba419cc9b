// Results that have stayed on the device, and operands, while the kernel swaps the program's memory out.
// Usage: results_swap advised | results_swap reclaimed GROUP, a memory control group that the program may use
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "results.h"

static const char* group;
static double* factor;

/// How many pages of the matrix are swapped out.
static int swapped_pages(const double* matrix) {
  const int map = open("/proc/self/pagemap", O_RDONLY);
  int found = 0;
  for (uintptr_t page = (uintptr_t)matrix / 4096; page < ((uintptr_t)matrix + bytes) / 4096; ++page) {
    uint64_t entry = 0;
    if (pread(map, &entry, sizeof entry, (off_t)(page * sizeof entry)) == sizeof entry) found += (int)(entry >> 62 & 1);
  }
  close(map);
  return found;
}

static int swap_out(double* matrix) {
  return madvise(matrix, bytes / 4096 * 4096, MADV_PAGEOUT) == 0 && swapped_pages(matrix) > 0;
}

static int multiplied_whole_is_right(double* left, double* right_operand) {
  double* const product = mapped();
  multiply(N, N, N, left, N, right_operand, N, 0.0, product, N);
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) {
      double sum = 0;
      for (int l = 0; l < N; ++l) sum += left[i + l * N] * right_operand[l + j * N];
      if (fabs(product[i + j * N] - sum) > 1e-8) return 0;
    }
  munmap(product, bytes);
  return 1;
}

static int advised(void) {
  // What the program has looked at is at home, and swapped out.
  if (!right(c) || !swap_out(c)) return 0;
  accumulate(c);
  // The program writes to swapped pages, and they are swapped out again before the device uses them.
  if (!right(c) || !swap_out(c)) return 0;
  c[5] += 1;
  expected[5] += 1;
  if (!swap_out(c)) return 0;
  accumulate(c);
  // A part is at home, and the rest is on the device alone.
  for (size_t i = 0; i < COUNT / 2; ++i)
    if (!is_right(c[i], i)) return 0;
  if (!swap_out(c) || !right_now_and_later()) return 0;
  // Operands that are only read.
  factor = mapped();
  fill(factor, COUNT, 3);
  for (int round = 0; round < 3; ++round) {
    if (!multiplied_whole_is_right(factor, c) || !swap_out(factor)) return 0;
    factor[7 * N + round] += 2;
    if (!swap_out(factor)) return 0;
  }
  return multiplied_whole_is_right(factor, c) && right_now_and_later();
}

static int tell_group(const char* name, const char* text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", group, name);
  const int file = open(path, O_WRONLY);
  if (file < 0) return 0;
  const int told = write(file, text, strlen(text)) > 0;
  close(file);
  return told;
}

static atomic_int done, times;  ///< so often was some of the factor swapped out

/// The kernel takes back what memory of the group it can, again and again: the first name is of version 2.
static void* reclaim(void* unused) {
  while (!done) {
    if (!tell_group("memory.reclaim", "8M")) tell_group("memory.force_empty", "0");
    times += swapped_pages(factor) > 0;
  }
  return unused;
}

/// Meanwhile memory of the program is swapped out, and Blastoff's own, too.
static int reclaimed(void) {
  char process[32];
  snprintf(process, sizeof process, "%ld", (long)getpid());
  if (!tell_group("cgroup.procs", process)) return 0;
  factor = mapped();
  fill(factor, COUNT, 5);
  pthread_t thread;
  int holds = 1;
  if (pthread_create(&thread, NULL, reclaim, NULL) != 0) return 0;
  for (int round = 0; holds && (round < 3 || (times < 2 && round < 200)); ++round) {
    accumulate(c);
    holds = right_now_and_later() && multiplied_whole_is_right(c, factor);
  }
  done = 1;
  pthread_join(thread, NULL);
  return holds && times > 0 && right_now_and_later();
}

int main(int argc, char** argv) {
  if (argc < 2) return 99;
  group = argc > 2 ? argv[2] : "";
  prepare(mapped());
  accumulate(c);
  const struct result_case cases[] = {{"advised", advised}, {"reclaimed", reclaimed}};
  return run_case(cases, sizeof cases / sizeof cases[0], argv[1]);
}
