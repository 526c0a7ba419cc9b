// A result that has stayed on the device, and unusual ways of looking at it. Usage: results_read CASE FILE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_ring.h"
#include "results.h"

static const char* path;  ///< a file that the program may write

static const size_t page = 4096, numbers_per_page = 4096 / sizeof(double);
static const size_t whole_pages = COUNT * sizeof(double) / 4096 * 4096;

/// Another process, which was forked before the first call, and looks when it is told to.
static pid_t watched, outsider;
static int word[2];

static int told_outsider(void) {
  int status = 1;
  if (write(word[1], "x", 1) != 1) return 0;
  return waitpid(outsider, &status, 0) == outsider && status == 0 && right_now_and_later();
}

static int reads_memory(void) {
  double* copy = mapped();
  const struct iovec local = {copy, bytes}, remote = {c, bytes};
  const ssize_t found = process_vm_readv(watched, &local, 1, &remote, 1, 0);
  return found < 0 ? errno == EPERM || errno == ENOSYS : found == (ssize_t)bytes && right(copy);
}

/// The kernel does not wait for pages on the ways of debuggers. What they read is right, and what they write counts.
static int is_debugged(void) {
  if (ptrace(PTRACE_SEIZE, watched, NULL, NULL) != 0) return 1;
  if (ptrace(PTRACE_INTERRUPT, watched, NULL, NULL) != 0 || waitpid(watched, NULL, __WALL) != watched) return 0;
  int all = 1;
  for (size_t i = 0; i < COUNT; i += numbers_per_page) {
    errno = 0;
    const union {
      long word;
      double number;
    } found = {ptrace(PTRACE_PEEKDATA, watched, c + i, NULL)}, written = {.number = 3};
    all &= errno == 0 ? is_right(found.number, i) : errno == EIO || errno == EFAULT;
    if (i > COUNT / 2 && ptrace(PTRACE_POKEDATA, watched, c + i, written.word) == 0) expected[i] = 3;
  }
  return ptrace(PTRACE_DETACH, watched, NULL, NULL) == 0 && all;
}

static int reads_memory_file(void) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/mem", (int)watched);
  double* copy = mapped();
  const int memory = open(name, O_RDONLY);
  if (memory < 0) return 1;
  int all = 1;
  for (size_t i = 0; i < COUNT; i += numbers_per_page)
    if (pread(memory, copy + i, 8, (off_t)(uintptr_t)(c + i)) == 8) all &= is_right(copy[i], i);
  return all;
}

static void start_outsider(int (*look)(void)) {
  watched = getpid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  if (pipe(word) != 0) abort();
  outsider = fork();
  if (outsider != 0) return;
  char told;
  _exit(read(word[0], &told, 1) == 1 && look() ? 0 : 1);
}

/// Traces a child as strace does: all its threads stop at each system call. Reads the child's result meanwhile.
static int trace(pid_t child, const volatile int* computed) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return -1;
  const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, child, NULL, options);
  ptrace(PTRACE_SYSCALL, child, NULL, NULL);
  for (pid_t stopped; (stopped = waitpid(-1, &status, __WALL)) > 0;) {
    if (stopped == child && !WIFSTOPPED(status)) return status;
    if (!WIFSTOPPED(status)) continue;
    const int signal = WSTOPSIG(status), in_call = signal == (SIGTRAP | 0x80);
    double first = 0;
    const struct iovec local = {&first, sizeof first}, remote = {c, sizeof first};
    if (in_call && stopped == child && *computed) process_vm_readv(child, &local, 1, &remote, 1, 0);
    const long delivered = in_call || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
    ptrace(PTRACE_SYSCALL, stopped, NULL, delivered);
  }
  return -1;
}

/// The parent makes no call; the child's report is the run's.
static int is_traced(void) {
  volatile int* const computed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const pid_t child = fork();
  if (child != 0) return trace(child, computed) == 0;
  ptrace(PTRACE_TRACEME, 0, NULL, NULL);
  raise(SIGSTOP);
  accumulate(c);
  *computed = 1;
  getppid();
  exit(right_now_and_later() ? 0 : 1);
}

static int read_back(int file) {
  double* copy = mapped();
  memcpy(copy, expected, bytes);
  return pread(file, copy, whole_pages, 0) == (ssize_t)whole_pages && right(copy);
}

/// Writes the result to a file, and reads another file into it.
static int by_ring(void) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (!open_ring()) return 1;
  const struct io_uring_sqe writes = {
      .opcode = IORING_OP_WRITE, .fd = file, .addr = (uintptr_t)c, .len = (unsigned)whole_pages};
  if (ask_ring(writes) != (int)whole_pages || !read_back(file)) return 0;
  accumulate(c);
  double* content = mapped();
  fill(content, COUNT, 9);
  const size_t part = 16 * page;
  if (pwrite(file, content, part, 0) != (ssize_t)part) return 0;
  const struct io_uring_sqe reads = {.opcode = IORING_OP_READ, .fd = file, .addr = (uintptr_t)c, .len = (unsigned)part};
  if (ask_ring(reads) != (int)part) return 0;
  memcpy(expected, content, part);
  accumulate(c);
  return right(c);
}

/// By a thread of the kernel.
static int by_thread_of_ring(void) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (!open_ring()) return 1;
  const struct io_uring_sqe writes = {
      .opcode = IORING_OP_WRITE, .flags = IOSQE_ASYNC, .fd = file, .addr = (uintptr_t)c, .len = (unsigned)whole_pages};
  return ask_ring(writes) == (int)whole_pages && read_back(file) && right_now_and_later();
}

/// The pipe gets the pages themselves, and from it they go to a file.
static int by_splice(void) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  int ends[2];
  if (pipe(ends) != 0) return 0;
  for (size_t done = 0; done < whole_pages;) {
    const struct iovec part = {(char*)c + done, whole_pages - done < 8 * page ? whole_pages - done : 8 * page};
    const ssize_t given = vmsplice(ends[1], &part, 1, 0);
    for (ssize_t taken = 0; taken < given;) {
      const ssize_t moved = splice(ends[0], NULL, file, NULL, (size_t)(given - taken), 0);
      if (moved <= 0) return 0;
      taken += moved;
    }
    if (given <= 0) return 0;
    done += (size_t)given;
  }
  return read_back(file) && right_now_and_later();
}

static int socket_ends[2];

static void* receive(void* copy) {
  return recv(socket_ends[1], copy, whole_pages, MSG_WAITALL) == (ssize_t)whole_pages ? copy : NULL;
}

static int by_socket(void) {
  double* copy = mapped();
  memcpy(copy, expected, bytes);
  pthread_t receiver;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends) != 0) return 0;
  pthread_create(&receiver, NULL, receive, copy);
  const ssize_t sent = send(socket_ends[0], c, whole_pages, 0);
  shutdown(socket_ends[0], SHUT_WR);
  void* received = NULL;
  pthread_join(receiver, &received);
  return sent == (ssize_t)whole_pages && received && right(copy) && right_now_and_later();
}

/// The kernel reads one word, first without being allowed to wait. The number is none that somebody waits for.
static int by_futex(void) {
  for (size_t i = 0; i < COUNT; i += numbers_per_page)
    if (syscall(SYS_futex, c + i, FUTEX_WAIT, 0x12345678, NULL, NULL, 0) != -1 || errno != EAGAIN) return 0;
  return right_now_and_later();
}

static volatile sig_atomic_t complete, wrong, looks;
static volatile double seen;
static double* other;

static void look_at_both(int signal) {
  (void)signal;
  seen = other[COUNT / 2];  // in the middle of a call that computes it
  if (!complete) return;
  ++looks;
  if (!right(c)) wrong = 1;
}

static int by_handler(void) {
  const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = look_at_both, .sa_flags = SA_RESTART};
  other = mapped();
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int round = 0; round < 8; ++round) {
    accumulate(c);
    complete = 1;
    for (const int before = looks; looks == before;) multiply(N, N, K, a, N, b, K, 0.0, other, N);
    complete = 0;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  return !wrong && right(c);
}

static void* look_for_ever(void* nothing) {
  (void)nothing;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) seen += right(c);
  return NULL;
}

/// Threads are cancelled while they wait for pages.
static int by_cancelled_threads(void) {
  for (int round = 0; round < 20; ++round) {
    pthread_t thread;
    multiply(N, N, K, a, N, b, K, 0.0, c, N);
    pthread_create(&thread, NULL, look_for_ever, NULL);
    usleep((useconds_t)(20 * round));
    pthread_cancel(thread);
    pthread_join(thread, NULL);
  }
  memset(expected, 0, bytes);
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i)
      for (int l = 0; l < K; ++l) expected[i + j * N] += a[i + l * N] * b[l + j * K];
  accumulate(c);
  return right_now_and_later();
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  path = argv[2];
  prepare(mapped());
  if (!strcmp(argv[1], "other-process")) start_outsider(reads_memory);
  if (!strcmp(argv[1], "debugger")) start_outsider(is_debugged);
  if (!strcmp(argv[1], "other-memory-file")) start_outsider(reads_memory_file);
  if (strcmp(argv[1], "traced") != 0) accumulate(c);
  const struct result_case cases[] = {
      {"other-process", told_outsider},
      {"debugger", told_outsider},
      {"other-memory-file", told_outsider},
      {"traced", is_traced},
      {"io-uring", by_ring},
      {"io-uring-thread", by_thread_of_ring},
      {"splice", by_splice},
      {"socket", by_socket},
      {"futex", by_futex},
      {"handler", by_handler},
      {"cancelled", by_cancelled_threads},
  };
  return run_case(cases, sizeof cases / sizeof cases[0], argv[1]);
}
