#include "platform/living.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace blastoff::platform {

std::uint64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

std::optional<std::uint64_t> started_at(std::uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // a name may contain anything
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  if (const char state = text[name_end + 2]; state == 'Z' || state == 'X') return std::nullopt;
  constexpr int fields_between = 20;  // proc(5): the start time is the 22nd field, the name the second
  std::size_t place = name_end + 1;
  for (int i = 1; i < fields_between && place != std::string::npos; ++i) place = text.find(' ', place + 1);
  if (place == std::string::npos) return std::nullopt;
  std::uint64_t ticks = 0;
  if (std::from_chars(text.data() + place + 1, text.data() + text.size(), ticks).ec != std::errc()) return std::nullopt;
  return ticks * (1'000'000'000U / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)));
}

std::optional<bool> is_living(const ProcessName& process) {
  const std::uint64_t here = pid_namespace();
  if (here == 0) return kill(static_cast<pid_t>(process.pid), 0) == 0 || errno == EPERM;  // /proc is hidden
  if (process.pid_namespace != 0 && process.pid_namespace != here) return std::nullopt;
  const auto started = started_at(process.pid);
  const std::uint64_t tick = 1'000'000'000U / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return started && *started <= process.made + tick;
}

}  // namespace blastoff::platform
