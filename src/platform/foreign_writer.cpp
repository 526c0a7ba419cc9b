// Who else may write this process's memory, judged by the communication libraries that it has loaded.
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "platform/fork_guard.h"
#include "platform/memory_map.h"

namespace blastoff::platform {
namespace {

/// A library through which someone else may write our memory, and the sign that somebody does: its device where pinned
/// memory is not counted in VmPin, else VmPin itself.
struct Suspect {
  std::string_view library;  ///< how the file name starts
  const char* device;        ///< nullptr: VmPin tells
};

constexpr std::array suspects = {
    Suspect{"libibverbs.so", nullptr},        Suspect{"libefa.so", nullptr},       Suspect{"libpsm2.so", nullptr},
    Suspect{"libpsm_infinipath.so", nullptr}, Suspect{"liburing.so", nullptr},     Suspect{"libxpmem.so", "/dev/xpmem"},
    Suspect{"libcxi.so", "/dev/cxi0"},        Suspect{"libugni.so", "/dev/kgni0"},
};

using SuspectSet = std::uint32_t;  ///< bit i: suspects[i] is loaded

/// The number of libraries ever loaded and unloaded, which changes whenever the answer may.
int count_changes(dl_phdr_info* info, std::size_t, void* out) {
  *static_cast<std::uint64_t*>(out) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

int look_for_suspects(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    if (file.starts_with(suspects[i].library)) *static_cast<SuspectSet*>(out) |= SuspectSet{1} << i;
  }
  return 0;
}

SuspectSet loaded_suspects() {
  // The two are one word: the count in the upper part, the set in the lower.
  static std::atomic<std::uint64_t> cache{0};
  const ForkGuard guard;
  std::uint64_t changes = 0;
  dl_iterate_phdr(count_changes, &changes);
  const std::uint64_t cached = cache.load(std::memory_order_relaxed);
  if (cached >> 32 == (changes & 0xffffffffu)) return static_cast<SuspectSet>(cached);
  SuspectSet found = 0;
  dl_iterate_phdr(look_for_suspects, &found);
  cache.store(changes << 32 | found, std::memory_order_relaxed);
  return found;
}

/// Kilobytes pinned for devices in this process, from /proc/self/status.
long pinned_kilobytes() {
  const int descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  char text[4096];
  const ssize_t bytes = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* line = std::strstr(text, "VmPin:");
  return line == nullptr ? 0 : std::strtol(line + std::strlen("VmPin:"), nullptr, 10);
}

}  // namespace

std::optional<std::string> foreign_writer() {
  const SuspectSet loaded = loaded_suspects();
  if (loaded == 0) return std::nullopt;
  const int saved_errno = errno;
  std::optional<std::string> answer;
  for (std::size_t i = 0; i < suspects.size() && !answer; ++i) {
    if ((loaded >> i & 1) == 0) continue;
    const auto& [library, device] = suspects[i];
    if (device == nullptr) {
      if (pinned_kilobytes() > 0) answer = "memory is pinned for a device (VmPin, " + std::string(library) + ")";
    } else if (access(device, F_OK) == 0) {
      answer = std::string(device) + " may write this process's memory (" + std::string(library) + ")";
    }
  }
  errno = saved_errno;
  return answer;
}

}  // namespace blastoff::platform
