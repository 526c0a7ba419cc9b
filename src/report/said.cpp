#include "report/said.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <tuple>

#include "platform/descriptor.h"
#include "platform/errno_guard.h"
#include "platform/log.h"
#include "report/counter_file.h"

namespace blastoff::report {

namespace {

/// Whether nobody has said it. If the file cannot be used, everybody says it.
bool is_first(const std::string& message) {
  const std::string run = run_directory();
  if (run.empty()) return true;
  const platform::ErrnoGuard errno_stays;
  const std::string path = run + "/" + said_file;
  const platform::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || flock(file.get(), LOCK_EX) != 0) return true;
  constexpr std::size_t most = 64;
  std::array<std::uint64_t, most> said{};
  const ssize_t bytes = pread(file.get(), said.data(), sizeof said, 0);
  const std::size_t count = bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
  const std::uint64_t hash = std::hash<std::string>{}(message);
  for (std::size_t i = 0; i < count; ++i)
    if (said[i] == hash) return false;
  if (count < most) std::ignore = write(file.get(), &hash, sizeof hash);
  return true;
}

}  // namespace

void tell_run(const std::string& message) {
  if (is_first(message)) platform::log_line("%s", message.c_str());
}

}  // namespace blastoff::report
