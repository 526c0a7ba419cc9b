// Runs a program while the kernel stops at an instruction of a library (a uprobe, as of perf or bpftrace).
// Usage: probed LIBRARY OFFSET PROGRAM [ARGUMENT...]
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  struct perf_event_attr probe = {.size = sizeof probe};
  FILE* const file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
  const int known = file != NULL && fscanf(file, "%u", &probe.type) == 1;
  if (file != NULL) fclose(file);
  probe.config1 = (uintptr_t)argv[1];
  probe.config2 = strtoull(argv[2], NULL, 16);
  // The program inherits the descriptor, and the probe ends with it.
  if (!known || syscall(SYS_perf_event_open, &probe, -1, 0, -1, 0L) < 0) {
    perror("perf_event_open");
    return 77;
  }
  execv(argv[3], argv + 3);
  return 98;
}
