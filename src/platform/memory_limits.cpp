#include "platform/memory_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>

#include "platform/descriptor.h"
#include "platform/process.h"
#include "platform/span.h"

namespace blastoff::platform {
namespace {

/// The first 4096 bytes of a file.
std::string beginning_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t bytes = read(file.get(), text, sizeof text);
  return bytes > 0 ? std::string(text, static_cast<std::size_t>(bytes)) : std::string();
}

/// The number in a file; unlimited if the file says "max" or is missing.
std::size_t number_in(const std::string& path) {
  const std::string text = beginning_of(path);
  std::size_t number = unlimited;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::size_t left_of(int limit, std::size_t used) {
  rlimit limits{};
  if (getrlimit(static_cast<__rlimit_resource>(limit), &limits) != 0 || limits.rlim_cur == RLIM_INFINITY)
    return unlimited;
  return limits.rlim_cur > used ? limits.rlim_cur - used : 0;
}

/// The files of a control group.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* reclaimable;  ///< a line of memory.stat
};
constexpr GroupFiles version_2 = {"/memory.max", "/memory.current", "\ninactive_file "};
constexpr GroupFiles version_1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "\ntotal_inactive_file "};

std::size_t limit_of(const std::string& group, const GroupFiles& files) {
  return number_in(group + files.limit);
}

/// What the group may still use. The kernel gives back pages of files when it needs memory.
std::size_t left_in(const std::string& group, const GroupFiles& files) {
  const std::size_t limit = limit_of(group, files);
  const std::size_t usage = number_in(group + files.usage);
  if (limit == unlimited || usage == unlimited) return limit;
  const std::string stat = "\n" + beginning_of(group + "/memory.stat");
  const std::size_t place = stat.find(files.reclaimable);
  std::size_t reclaimable = 0;
  if (place != std::string::npos)
    std::from_chars(stat.data() + stat.find(' ', place) + 1, stat.data() + stat.size(), reclaimable);
  const std::size_t used = usage - std::min(usage, reclaimable);
  return limit > used ? limit - used : 0;
}

using OfGroup = std::size_t (*)(const std::string& group, const GroupFiles& files);

/// The smallest value of the group and all groups above it, up to the root.
std::size_t min_on_the_way(std::string group, const std::string& root, const GroupFiles& files, OfGroup value) {
  std::size_t least = unlimited;
  for (;;) {
    least = std::min(least, value(root + group, files));
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
  }
}

std::size_t min_of_groups(std::string_view groups, std::string_view root, OfGroup value) {
  std::size_t least = unlimited;
  while (!groups.empty()) {
    // "0::/path" in version 2; "4:memory:/path" in version 1.
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    const std::size_t colon = line.find(':');
    const std::size_t second = colon == std::string_view::npos ? colon : line.find(':', colon + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(colon + 1, second - colon - 1);
    const std::string group(line.substr(second + 1));
    if (controllers.empty()) least = std::min(least, min_on_the_way(group, std::string(root), version_2, value));
    if (controllers == "memory")
      least = std::min(least, min_on_the_way(group, std::string(root) + "/memory", version_1, value));
  }
  return least;
}

}  // namespace

std::size_t address_space_left() {
  unsigned long mapped = 0, data = 0;
  const std::string pages = beginning_of("/proc/self/statm");
  std::sscanf(pages.c_str(), "%lu %*u %*u %*u %*u %lu", &mapped, &data);
  return std::min(left_of(RLIMIT_AS, mapped * page_size()), left_of(RLIMIT_DATA, data * page_size()));
}

std::size_t memory_of_groups(std::string_view groups, std::string_view root) {
  return min_of_groups(groups, root, limit_of);
}

std::size_t memory_left_in_groups(std::string_view groups, std::string_view root) {
  return min_of_groups(groups, root, left_in);
}

std::size_t memory_left() {
  constexpr std::string_view name = "MemAvailable:";
  const std::string text = beginning_of("/proc/meminfo");
  const std::size_t place = text.find(name);
  unsigned long kilobytes = 0;
  if (place == std::string::npos || std::sscanf(text.c_str() + place + name.size(), "%lu", &kilobytes) != 1)
    return unlimited;
  return std::min(std::size_t{kilobytes} << 10U,
                  memory_left_in_groups(beginning_of("/proc/self/cgroup"), "/sys/fs/cgroup"));
}

std::size_t usable_memory() {
  return std::min(physical_memory(), memory_of_groups(beginning_of("/proc/self/cgroup"), "/sys/fs/cgroup"));
}

}  // namespace blastoff::platform
