#include "report/marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "platform/errno_guard.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"
#include "report/output.h"
#include "report/run_space.h"

namespace blastoff::report {

namespace {

constinit std::atomic<bool> nobody_listens{false};

int open_marks_in(const char* directory, const char* place) {
  std::array<char, 512> path{};
  const int length = std::snprintf(path.data(), path.size(), "%s/%s/%s", directory, place, marks_file);
  const bool whole = length > 0 && static_cast<std::size_t>(length) < path.size();
  errno = ENOENT;
  return whole && *directory != '\0' ? open(path.data(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC) : -1;
}

int open_marks() {
  const int file = open_marks_in(run_directory(), on_disk);
  return file >= 0 || errno != ENOENT ? file : open_marks_in(run_directory(), ".");
}

bool is_full(int file) {
  struct stat status {};
  return fstat(file, &status) != 0 || status.st_size >= static_cast<off_t>(max_mark_bytes);
}

}  // namespace

void mark(const char* name) {
  if (nobody_listens.load(std::memory_order_relaxed) || name == nullptr) return;
  const platform::ErrnoGuard errno_stays;
  const std::uint64_t now = boot_nanoseconds();
  const NoWriteSignals no_signals;
  Output file(open_marks());
  if (!file.valid()) {
    if (errno == ENOENT) nobody_listens.store(true, std::memory_order_relaxed);
    return;
  }
  if (is_full(file.get())) return;
  std::array<char, longest_mark + 64> line{};
  const int length = std::snprintf(line.data(), line.size(), "%llu %d %.*s", static_cast<unsigned long long>(now),
                                   static_cast<int>(getpid()), longest_mark, name);
  if (length <= 0) return;
  char* const end = line.data() + length;
  std::replace_if(
      line.data(), end, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }, ' ');
  *end = '\n';
  file.write(std::string_view(line.data(), static_cast<std::size_t>(length) + 1));
}

}  // namespace blastoff::report
