"""A sandbox like a container's: a program that forbids system calls and then executes another program."""

from pathlib import Path

from linking import Workshop

SOURCE = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static const unsigned refused[] = {@};
enum { COUNT = sizeof refused / sizeof *refused, NEW_USERFAULTFD = 0xaa00 };
#define LOAD(field) (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_NOT(value, skip) (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define END(what) (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what)
int main(int count, char** arguments) {
  struct sock_filter code[2 * COUNT + 6];
  unsigned short length = 0;
  code[length++] = LOAD(nr);
  for (int i = 0; i < COUNT; ++i) {
    code[length++] = IF_NOT(refused[i], 1);
    code[length++] = END(SECCOMP_RET_ERRNO | EPERM);
  }
  code[length++] = IF_NOT(SYS_ioctl, 3);  // /dev/userfaultfd is none of what a container has
  code[length++] = LOAD(args[1]);
  code[length++] = IF_NOT(NEW_USERFAULTFD, 1);
  code[length++] = END(SECCOMP_RET_ERRNO | ENOTTY);
  code[length++] = END(SECCOMP_RET_ALLOW);
  struct sock_fprog filter = {length, code};
  if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 3;
  execvp(arguments[1], arguments + 1);
  return 4;
}
"""


def refusing(workshop: Workshop, *calls: str) -> Path:
    """The path of a program that runs the command given as its arguments; in that command these system calls fail with EPERM."""
    source = workshop.directory / f"{'-'.join(calls)}.c"
    source.write_text(SOURCE.replace("@", ", ".join(f"SYS_{call}" for call in calls)))
    return workshop.program(source.stem, source)
