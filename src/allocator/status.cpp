// glibc has a function fstat() since 2.33; before that it was compiled into each program.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] int fstat(int file, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}
