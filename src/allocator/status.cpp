// fstat() came to the C library in glibc 2.33; before that it was part of each program.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] int fstat(int file, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, status));
}
