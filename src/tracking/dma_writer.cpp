// The evidence is what the kernel counts as pinned. Drivers that write memory without that count are recognised by
// their library, if the process has loaded it, and their device file.
#include "tracking/dma_writer.h"

#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "platform/errno_guard.h"
#include "platform/fork_guard.h"

namespace blastoff::tracking {
namespace {

/// A library through which others may write our memory without pinning it in VmPin, and the device that it needs.
struct Suspect {
  std::string_view file_prefix;
  const char* device;
};

constexpr std::array suspects = {
    Suspect{"libxpmem.so", "/dev/xpmem"},
    Suspect{"libcxi.so", "/dev/cxi0"},
    Suspect{"libugni.so", "/dev/kgni0"},
};

using SuspectSet = std::uint32_t;  ///< bit i: suspects[i] is loaded

/// The number of libraries ever loaded and unloaded. The answer can change only when this number does.
int count_changes(dl_phdr_info* info, std::size_t, void* out) {
  *static_cast<std::uint64_t*>(out) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

int look_for_suspects(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    if (file.starts_with(suspects[i].file_prefix)) *static_cast<SuspectSet*>(out) |= SuspectSet{1} << i;
  }
  return 0;
}

SuspectSet loaded_suspects() {
  // Both are kept in one word: the count in the upper half, the set in the lower.
  static std::atomic<std::uint64_t> cache{0};
  const platform::ForkGuard guard;
  std::uint64_t changes = 0;
  dl_iterate_phdr(count_changes, &changes);
  const std::uint64_t cached = cache.load(std::memory_order_relaxed);
  if (cached >> 32 == (changes & 0xffffffffu)) return static_cast<SuspectSet>(cached);
  SuspectSet found = 0;
  dl_iterate_phdr(look_for_suspects, &found);
  cache.store(changes << 32 | found, std::memory_order_relaxed);
  return found;
}

std::optional<std::string> writer_by_library() {
  const SuspectSet loaded = loaded_suspects();
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    const auto& [library, device] = suspects[i];
    if ((loaded >> i & 1) != 0 && access(device, F_OK) == 0)
      return std::string(device) + " may write this process's memory (" + std::string(library) + ")";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> dma_writer(bool pinned) {
  const platform::ErrnoGuard errno_stays;
  if (pinned) return "memory is pinned for another device or for io_uring (VmPin)";
  return writer_by_library();
}

}  // namespace blastoff::tracking
