#include "report/said.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "platform/descriptor.h"
#include "platform/errno_guard.h"
#include "platform/log.h"
#include "report/counter_file.h"

namespace blastoff::report {

namespace {

/// What one process has said, and which process that was. Writes of whole sayings do not mix, so the file needs no
/// lock, for which a process might wait that is stopped.
struct Saying {
  std::uint64_t message;
  std::uint64_t speaker;
};

/// Who said it first; 0 if nobody did.
std::uint64_t first_speaker(int file, std::uint64_t message) {
  std::array<Saying, 64> some{};
  off_t offset = 0;
  for (ssize_t bytes = 0; (bytes = pread(file, some.data(), sizeof some, offset)) > 0; offset += bytes)
    for (const Saying& saying : std::span(some).first(static_cast<std::size_t>(bytes) / sizeof(Saying)))
      if (saying.message == message) return saying.speaker;
  return 0;
}

/// Whether nobody has said it. If the file cannot be used, everybody says it.
bool is_first(const std::string& message) {
  const std::string run = run_directory();
  if (run.empty()) return true;
  const platform::ErrnoGuard errno_stays;
  const std::string path = run + "/" + said_file;
  const platform::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return true;
  static std::atomic<std::uint64_t> spoken{0};
  const Saying own{std::hash<std::string>{}(message), (static_cast<std::uint64_t>(getpid()) << 32U) + ++spoken};
  if (first_speaker(file.get(), own.message) != 0) return false;
  if (write(file.get(), &own, sizeof own) != sizeof own) return true;
  return first_speaker(file.get(), own.message) == own.speaker;
}

}  // namespace

void tell_run(const std::string& message) {
  if (is_first(message)) platform::log_line("%s", message.c_str());
}

}  // namespace blastoff::report
