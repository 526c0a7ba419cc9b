// A program that forbids itself nearly all system calls after its first products. Usage: forbidden_calls HOW, which
// names what happens to a call that is forbidden, or who forbids it.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario.h"

enum { n = 200, matrix = n * n };

static double *a, *b, *c;

/// Allocates nothing, since memory may be forbidden.
static void products(const char* when) {
  int right = 1;
  for (int i = 0; i < 3; ++i) {
    a[i] += 1;
    multiply(n, n, n, a, n, b, n, 0, c, n);
    right = holds_product(n, n, n, a, n, b, n, 0, NULL, c, n) && right;
  }
  verdict(when, right);
}

/// Only what memory, output and the end of a program need is allowed.
static int forbid(unsigned action, int by_number, unsigned flags) {
  static const unsigned allowed[] = {SYS_write, SYS_exit_group, SYS_exit, SYS_brk, SYS_mmap, SYS_munmap, SYS_futex};
  enum { count = sizeof allowed / sizeof *allowed };
  struct sock_filter code[2 * count + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  for (int i = 0; i < count; ++i) {
    code[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
    code[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  code[2 * count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  struct sock_fprog filter = {2 * count + 2, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return by_number ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)
                   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int forbid_as(const char* how) {
  if (strcmp(how, "killed") == 0) return forbid(SECCOMP_RET_KILL_PROCESS, 0, 0);
  if (strcmp(how, "refused") == 0) return forbid(SECCOMP_RET_ERRNO | EPERM, 1, 0);
  if (strcmp(how, "all-threads") == 0) return forbid(SECCOMP_RET_KILL_PROCESS, 1, SECCOMP_FILTER_FLAG_TSYNC);
  if (strcmp(how, "strict") == 0) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (strcmp(how, "asked") == 0)
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT ? 0 : -1;
  if (strcmp(how, "guest") == 0) {  // what it forbids itself does not concern this process
    const pid_t child = vfork();
    if (child == 0) _exit(forbid(SECCOMP_RET_KILL_PROCESS, 0, 0) == 0 ? 0 : 1);
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
  }
  return -1;
}

int main(int argc, char** argv) {
  if (argc != 2) return 99;
  a = filled(matrix, 1);
  b = filled(matrix, 2);
  c = filled(matrix, 3);
  double* left = filled(matrix, 4);
  products("before");
  multiply(n, n, n, a, n, b, n, 0, left, n);
  if (forbid_as(argv[1]) != 0) return 77;
  verdict("what was left", memcmp(left, c, matrix * sizeof *left) == 0);
  products("afterwards");
  if (strcmp(argv[1], "strict") == 0) syscall(SYS_exit, scenario_status());
  return scenario_status();
}
