// contained WHAT PROGRAM [ARGUMENT...]: runs the program as container runtimes do. WHAT: "events" denies userfaultfd,
// as the usual filter of containers does, and gives a /dev with few devices; "tracking" also makes a part of /proc
// read-only.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int deny_userfaultfd(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int make_read_only(const char* path) {
  return mount(path, path, NULL, MS_BIND, NULL) || mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
}

/// Makes a private /dev with only the devices that every program may expect.
static int make_devices(void) {
  return unshare(CLONE_NEWNS) || mount("tmpfs", "/dev", "tmpfs", 0, NULL) ||
         mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) || mknod("/dev/zero", S_IFCHR | 0666, makedev(1, 5));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int proc_too = strcmp(argv[1], "tracking") == 0;
  if (make_devices() || (proc_too && make_read_only("/proc/self/clear_refs")) || deny_userfaultfd())
    perror("contained");
  else if (execv(argv[2], argv + 2))
    perror(argv[2]);
  return 2;
}
