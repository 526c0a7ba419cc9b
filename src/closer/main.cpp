// blastoff-closer: keeps files of a process open until that process has ended, and closes them then, so that nobody who
// waits for the process waits for this, too (platform/left_open.h).
//
// Usage: blastoff-closer DESCRIPTOR...   inherited, in ascending order, none a standard stream. Standard input is a
// pipe whose other end the process holds. All other descriptors are closed at once.

#include <cerrno>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// All from `first` to `last`. The C library has a function for it only since 2.34.
bool close_numbers(unsigned first, unsigned last) {
  return first > last || syscall(SYS_close_range, first, last, 0) == 0;
}

/// False: the system cannot (before Linux 5.9).
bool close_others(char* const* kept, int count) {
  unsigned next = STDIN_FILENO + 1;
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<unsigned>(std::atoi(kept[i]));
    if (!close_numbers(next, number - 1)) return false;
    next = number + 1;
  }
  return close_numbers(next, ~0U);
}

/// Until nobody can write to the pipe any more.
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
