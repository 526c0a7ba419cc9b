// A program uses file descriptors after Blastoff has opened its own. Usage: descriptors CASE [FILE]
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

enum { N = 96, COUNT = N * N, MOST = 1024 };
static double *a, *b, *c;

static double* mapped(void) {
  double* matrix = mapped_doubles(COUNT);
  fill(matrix, COUNT, 5);
  return matrix;
}

static void unmap(double* matrix) {
  munmap(matrix, COUNT * sizeof(double));
}

static int computes(void) {
  a[3] += 1.0;
  return multiplies(N, N, N, a, N, b, N, 0.5, c, N);
}

/// Unmaps memory that was used, and maps other memory in its place.
static int memory_comes_and_goes(void) {
  int right = computes();
  for (int round = 0; round < 4; ++round) {
    double* matrix = mapped();
    matrix[round] = round;
    right &= multiplies(N, N, N, matrix, N, b, N, 0.0, c, N) && multiplies(N, N, N, matrix, N, b, N, 0.0, c, N);
    unmap(matrix);
  }
  return right;
}

/// Stores the numbers of all descriptors except the standard ones, and returns how many there are.
static int descriptors(int* numbers) {
  DIR* directory = opendir("/proc/self/fd");
  if (!directory) abort();
  int count = 0;
  for (struct dirent* entry; (entry = readdir(directory));) {
    const int number = atoi(entry->d_name);
    if (number > 2 && number != dirfd(directory) && count < MOST) numbers[count++] = number;
  }
  closedir(directory);
  return count;
}

static void closed(unsigned last) {
  close_range(3, last, 0);
  for (int i = 0; i < 8; ++i)
    if (open("/dev/zero", O_RDONLY) < 0) abort();
  verdict("memory comes and goes after all descriptors were closed", memory_comes_and_goes());
}

/// A pipe with data takes the number of every high descriptor that a library has in this process.
static void reused(void) {
  static const char data[] = "precious data of the program";
  int numbers[MOST], ends[2];
  double* used = mapped();
  verdict("used", multiplies(N, N, N, used, N, b, N, 0.0, c, N) && multiplies(N, N, N, used, N, b, N, 0.0, c, N));
  const int count = descriptors(numbers);
  if (pipe(ends) || write(ends[1], data, sizeof data) != sizeof data) abort();
  for (int i = 0; i < count; ++i)
    if (numbers[i] > 63 && dup2(ends[0], numbers[i]) < 0) abort();
  unmap(used);
  usleep(50000);  // time to read what is there
  verdict("memory comes and goes beside a pipe", memory_comes_and_goes());
  char read_back[sizeof data] = "";
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  verdict("the pipe's data",
          read(ends[0], read_back, sizeof read_back) == sizeof data && !memcmp(data, read_back, sizeof data));
}

/// A child keeps its inherited descriptors; then the parent closes its own.
static void inherited(void) {
  double* used = mapped();
  int right = multiplies(N, N, N, used, N, b, N, 0.0, c, N);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  close_range(3, ~0U, 0);
  unmap(used);
  right &= memory_comes_and_goes();
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  verdict("the parent of a child with the same descriptors", right);
}

/// Another process sees our record lock, and the end of a pipe.
static void locks_and_pipes(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int ends[2];
  if (file < 0 || fcntl(file, F_SETLK, &whole) || pipe(ends)) abort();
  verdict("products", computes() && memory_comes_and_goes());
  const pid_t child = fork();
  if (child == 0) {
    struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(file, F_GETLK, &asked);
    _exit(asked.l_type == F_WRLCK && asked.l_pid == getppid() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  verdict("the record lock", status == 0);
  char byte;
  close(ends[1]);
  verdict("the end of the pipe", read(ends[0], &byte, 1) == 0);
}

/// Makes stderr a file of the program, before the first call or after it. `closes`: by closing and opening.
static void stderr_elsewhere(const char* path, int closes) {
  int file;
  if (closes) {
    close(2);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file != 2) abort();
  } else {
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, 2);
  }
  verdict("products", computes() && memory_comes_and_goes());
  if (write(2, "mine\n", 5) != 5) abort();
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  a = mapped();
  b = mapped();
  c = mapped();
  if (!strcmp(name, "stderr-closed") && argc > 2) {
    stderr_elsewhere(argv[2], 1);
    return scenario_status();
  }
  if (!strcmp(name, "stderr-redirected") && argc > 2) {
    stderr_elsewhere(argv[2], 0);
    return scenario_status();
  }
  if (!strcmp(name, "locks-and-pipes") && argc > 2) {
    locks_and_pipes(argv[2]);
    return scenario_status();
  }
  verdict("before", computes() && computes());
  if (!strcmp(name, "closed"))
    closed(~0U);
  else if (!strcmp(name, "closed-low"))
    closed(63);
  else if (!strcmp(name, "reused"))
    reused();
  else if (!strcmp(name, "inherited"))
    inherited();
  else
    return 99;
  return scenario_status();
}
