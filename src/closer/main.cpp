// blastoff-closer: keeps files of a process open until the process has ended, and then closes them. So nobody who waits
// for the process has to wait for the closing too (platform/left_open.h).
//
// Usage: blastoff-closer DESCRIPTOR...   The descriptors are inherited, in ascending order, and none is a standard
// stream. Standard input is a pipe whose other end the process holds. All other descriptors are closed at once.

#include <cerrno>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// Closes all descriptors from `first` to `last`. The C library has a function for this only since 2.34.
bool close_numbers(unsigned first, unsigned last) {
  return first > last || syscall(SYS_close_range, first, last, 0) == 0;
}

/// Returns false if the system cannot do it (before Linux 5.9).
bool close_others(char* const* kept, int count) {
  unsigned next = STDIN_FILENO + 1;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<unsigned>(std::atoi(kept[i]));
    if (!close_numbers(next, number - 1)) return false;
    next = number + 1;
  }
  return close_numbers(next, ~0U);
}

/// Waits until nobody can write to the pipe any more.
void wait_for_end_of(int pipe) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(pipe, &byte, 1);
  } while (got > 0 || (got < 0 && errno == EINTR));
}

}  // namespace

int main(int count, char** arguments) {
  if (!close_others(arguments + 1, count - 1)) return EXIT_FAILURE;
  wait_for_end_of(STDIN_FILENO);
  return EXIT_SUCCESS;
}
