#include "onlookers.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "memory.h"

namespace coherence {
namespace {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

/// What the file holds from its beginning.
bool file_holds(int file, const char* expected, std::size_t bytes) {
  std::vector<char> found(bytes);
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t part = pread(file, found.data() + done, bytes - done, static_cast<off_t>(done));
    if (part <= 0) return false;
    done += static_cast<std::size_t>(part);
  }
  return memcmp(found.data(), expected, bytes) == 0;
}

bool written_to_file(const char* data, const char* expected, std::size_t bytes) {
  const int file = memfd_create("looks", 0);
  if (file < 0) fail_call("memfd_create");
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t part = write(file, data + done, bytes - done);
    if (part <= 0) fail_call("write");
    done += static_cast<std::size_t>(part);
  }
  const bool right = file_holds(file, expected, bytes);
  close(file);
  return right;
}

/// Through a pipe, page by page: copied, or the page itself.
bool sent_through_pipe(const char* data, const char* expected, std::size_t bytes, bool itself) {
  int ends[2];
  if (pipe(ends) != 0) fail_call("pipe");
  bool right = true;
  char found[4096];
  for (std::size_t done = 0; done < bytes && right;) {
    const iovec piece{const_cast<char*>(data) + done, std::min(bytes - done, sizeof found)};
    const ssize_t given = itself ? vmsplice(ends[1], &piece, 1, 0) : writev(ends[1], &piece, 1);
    if (given <= 0) fail_call(itself ? "vmsplice" : "writev");
    for (std::size_t taken = 0; taken < static_cast<std::size_t>(given);) {
      const ssize_t part = read(ends[0], found, static_cast<std::size_t>(given) - taken);
      if (part <= 0) fail_call("read");
      right = right && memcmp(found, expected + done + taken, static_cast<std::size_t>(part)) == 0;
      taken += static_cast<std::size_t>(part);
    }
    done += static_cast<std::size_t>(given);
  }
  close(ends[0]);
  close(ends[1]);
  return right;
}

bool read_as_another_process(const char* data, const char* expected, std::size_t bytes) {
  std::vector<char> found(bytes);
  const iovec to{found.data(), bytes};
  const iovec from{const_cast<char*>(data), bytes};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(bytes)) return true;  // forbidden
  return memcmp(found.data(), expected, bytes) == 0;
}

bool read_in_memory_file(const char* data, const char* expected, std::size_t bytes) {
  std::vector<char> found(bytes);
  const int file = open("/proc/self/mem", O_RDONLY);
  if (file < 0) fail_call("open /proc/self/mem");
  const ssize_t part = pread(file, found.data(), bytes, static_cast<off_t>(reinterpret_cast<uintptr_t>(data)));
  close(file);
  return part <= 0 || memcmp(found.data(), expected, static_cast<std::size_t>(part)) == 0;
}

}  // namespace

bool kernel_finds(const char* data, const char* expected, std::size_t bytes, Random& random) {
  switch (random.below(5)) {
    case 0: return written_to_file(data, expected, bytes);
    case 1: return sent_through_pipe(data, expected, bytes, false);
    case 2: return sent_through_pipe(data, expected, bytes, true);
    case 3: return read_as_another_process(data, expected, bytes);
    default: return read_in_memory_file(data, expected, bytes);
  }
}

// Not all kernels know all advice, and users may lock little.
void advise(char* data, std::size_t bytes, Random& random) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  const std::size_t first = (page - address % page) % page;
  if (bytes < first + page) return;
  char* const begin = data + first;
  const std::size_t length = (bytes - first) / page * page;
  if (random.one_in(4)) {
    if (mlock(begin, length) == 0) munlock(begin, length);
    return;
  }
  madvise(begin, length,
          random.pick({MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ,
                       MADV_POPULATE_READ + 1, MADV_WILLNEED}));
}

}  // namespace coherence
