#include "onlookers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "../programs/io_ring.h"
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

/// The whole pages of the data, which the kernel hands to the disk itself.
bool written_past_the_cache(const char* data, const char* expected, std::size_t bytes) {
  const std::size_t first = (page - reinterpret_cast<uintptr_t>(data) % page) % page;
  if (bytes < first + page) return true;
  const std::size_t length = (bytes - first) / page * page;
  const char* const directory = getenv("TMPDIR");
  const int file = open(directory != nullptr ? directory : "/tmp", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
  if (file < 0) return true;  // not all file systems can
  const ssize_t written = write(file, data + first, length);
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_DIRECT);
  const bool right = written < 0
                         ? errno == EINVAL
                         : written == static_cast<ssize_t>(length) && file_holds(file, expected + first, length);
  close(file);
  return right;
}

bool written_by_ring(const char* data, const char* expected, std::size_t bytes, bool by_thread_of_kernel) {
  static thread_local pid_t opened_by = 0;  // a child must not use its parent's
  static thread_local bool works = false;
  if (opened_by != getpid()) {
    opened_by = getpid();
    works = open_ring() != 0;
  }
  if (!works) return true;
  const int file = memfd_create("looks", 0);
  if (file < 0) fail_call("memfd_create");
  io_uring_sqe request{};
  request.opcode = IORING_OP_WRITE;
  request.flags = by_thread_of_kernel ? IOSQE_ASYNC : 0;
  request.fd = file;
  request.addr = reinterpret_cast<uintptr_t>(data);
  request.len = static_cast<unsigned>(bytes);
  const bool right = ask_ring(request) == static_cast<int>(bytes) && file_holds(file, expected, bytes);
  close(file);
  return right;
}

/// Another process, which looks at this one.
class Outsider {
 public:
  enum class Way : int { copy, memory_file, debugger };

  void start() {
    watched_ = getpid();
    int requests[2], answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0) fail_call("pipe");
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t child = fork();
    if (child < 0) fail_call("fork");
    requests_ = requests[child != 0 ? 1 : 0];
    answers_ = answers[child != 0 ? 0 : 1];
    close(requests[child != 0 ? 0 : 1]);
    close(answers[child != 0 ? 1 : 0]);
    if (child != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (Request request; read(requests_, &request, sizeof request) == static_cast<ssize_t>(sizeof request);) {
      Answer answer{};
      answer.bytes = look(request, answer.found);
      if (write(answers_, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) break;
    }
    _exit(0);
  }

  bool finds(const char* data, const char* expected, std::size_t bytes, Way way) {
    if (watched_ != getpid()) return true;  // a child has no outsider of its own
    const std::lock_guard lock(mutex_);
    const Request request{data, std::min(bytes, sizeof Answer::found), way};
    Answer answer{};
    if (write(requests_, &request, sizeof request) != static_cast<ssize_t>(sizeof request)) fail_call("write");
    if (read(answers_, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) fail_call("read");
    const bool whole = way != Way::copy || answer.bytes <= 0 || answer.bytes == static_cast<ssize_t>(request.bytes);
    return whole && (answer.bytes <= 0 || memcmp(answer.found, expected, static_cast<std::size_t>(answer.bytes)) == 0);
  }

 private:
  struct Request {
    const char* data;
    std::size_t bytes;
    Way way;
  };
  struct Answer {
    ssize_t bytes;  ///< found; 0 or less: it is forbidden, or the kernel does not wait for the page
    char found[2048];
  };

  ssize_t look(const Request& request, char* found) const {
    switch (request.way) {
      case Way::copy: {
        const iovec to{found, request.bytes};
        const iovec from{const_cast<char*>(request.data), request.bytes};
        return process_vm_readv(watched_, &to, 1, &from, 1, 0);
      }
      case Way::memory_file: {
        const std::string name = "/proc/" + std::to_string(watched_) + "/mem";
        const int file = open(name.c_str(), O_RDONLY);
        if (file < 0) return 0;
        const ssize_t part =
            pread(file, found, request.bytes, static_cast<off_t>(reinterpret_cast<uintptr_t>(request.data)));
        close(file);
        return part;
      }
      case Way::debugger: return peek(request, found);
    }
    return 0;
  }

  /// Stops the first thread for a moment.
  ssize_t peek(const Request& request, char* found) const {
    if (ptrace(PTRACE_SEIZE, watched_, nullptr, nullptr) != 0) return 0;
    ssize_t bytes = 0;
    if (ptrace(PTRACE_INTERRUPT, watched_, nullptr, nullptr) == 0 && waitpid(watched_, nullptr, __WALL) == watched_) {
      for (std::size_t at = 0; at + sizeof(long) <= request.bytes; at += sizeof(long)) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, watched_, request.data + at, nullptr);
        if (errno != 0) break;
        memcpy(found + at, &word, sizeof word);
        bytes = static_cast<ssize_t>(at + sizeof word);
      }
    }
    ptrace(PTRACE_DETACH, watched_, nullptr, nullptr);
    return bytes;
  }

  std::mutex mutex_;
  pid_t watched_ = 0;
  int requests_ = -1, answers_ = -1;
};

Outsider& outsider() {
  static Outsider one;
  return one;
}

/// Results go home if a debugger is there when the device is opened, so it comes later.
bool another_process_finds(const char* data, const char* expected, std::size_t bytes, Random& random) {
  static std::atomic<int> looks{0};
  constexpr int looks_before_debuggers = 100;
  using enum Outsider::Way;
  const Outsider::Way way = random.pick({copy, memory_file, debugger});
  const bool early = ++looks < looks_before_debuggers;
  return outsider().finds(data, expected, bytes, early && way == debugger ? copy : way);
}

}  // namespace

void start_outsider() {
  outsider().start();
}

bool kernel_finds(const char* data, const char* expected, std::size_t bytes, Random& random) {
  switch (random.below(9)) {
    case 0: return written_to_file(data, expected, bytes);
    case 1: return sent_through_pipe(data, expected, bytes, false);
    case 2: return sent_through_pipe(data, expected, bytes, true);
    case 3: return read_as_another_process(data, expected, bytes);
    case 4: return written_past_the_cache(data, expected, bytes);
    case 5: return written_by_ring(data, expected, bytes, false);
    case 6: return written_by_ring(data, expected, bytes, true);
    case 7: return another_process_finds(data, expected, bytes, random);
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
