// Runs a program with fewer rights over its memory. Usage: confined HOW PROGRAM [ARGUMENT...]
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif

#define DENIED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/// Forbids pages that are writable and executable; with `no_file_writes` also pwrite(), even into a memory file.
static int filter(int no_file_writes) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_file_writes ? SYS_pwrite64 : ~0U, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
      DENIED,
      ALLOWED,
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  int failed = 1;
  if (strcmp(argv[1], "deny-write-execute") == 0) failed = prctl(PR_SET_MDWE, 1, 0, 0, 0);
  if (strcmp(argv[1], "no-writable-text") == 0) failed = filter(0);
  if (strcmp(argv[1], "no-way-to-text") == 0) failed = filter(1);
  if (failed) {
    perror(argv[1]);
    return 77;
  }
  execv(argv[2], argv + 2);
  return 98;
}
