// counted PROGRAM [ARGUMENT...]: runs the program and counts its system calls. The program can read the counts
// (counts.h).
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"

static void die(const char* what) {
  perror(what);
  exit(2);
}

static void start(char** argv) {
  struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE)};  // stops at every system call
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (ptrace(PTRACE_TRACEME, 0, 0, 0)) die("ptrace");
  raise(SIGSTOP);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) die("seccomp");
  execv(argv[0], argv);
  die(argv[0]);
}

static void count(struct counts* counts, pid_t thread, pid_t main_thread) {
  struct __ptrace_syscall_info call;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call) < 0) return;
  if (call.seccomp.nr == SYS_move_pages && call.seccomp.args[3]) ++counts->moves;
  if (thread == main_thread && call.seccomp.nr < SYSTEM_CALLS) ++counts->of_main_thread[call.seccomp.nr];
}

/// The signal with which a stopped thread must be continued.
static int passed_on(int status) {
  const int signal = WSTOPSIG(status);
  if (status >> 16 || signal == SIGSTOP || signal == SIGTRAP) return 0;
  return signal;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int file = memfd_create("counts", 0);
  if (file < 0 || ftruncate(file, sizeof(struct counts)) || dup2(file, COUNTS_DESCRIPTOR) < 0) die("memfd");
  struct counts* counts = shared_counts();
  const pid_t child = fork();
  if (child == 0) start(argv + 1);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) die("fork");
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
  if (ptrace(PTRACE_SETOPTIONS, child, 0, options) || ptrace(PTRACE_CONT, child, 0, 0)) die("ptrace");
  for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
    if (thread == child && WIFEXITED(status)) return WEXITSTATUS(status);
    if (thread == child && WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    if (!WIFSTOPPED(status)) continue;
    if (status >> 16 == PTRACE_EVENT_SECCOMP) count(counts, thread, child);
    ptrace(PTRACE_CONT, thread, 0, passed_on(status));
  }
  return 2;
}
