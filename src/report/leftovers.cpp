#include "report/leftovers.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "platform/folder.h"
#include "platform/process.h"
#include "report/call_sites.h"
#include "report/counter_layout.h"

namespace blastoff::report {
namespace {

/// Cuts the number at the beginning off the text; nullopt if there is none.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// When a process started, in nanoseconds since boot; nullopt if there is no process with that id.
std::optional<std::uint64_t> started_at(std::uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // a name may contain anything
  if (name_end == std::string::npos) return std::nullopt;
  constexpr int fields_between = 20;  // proc(5): the start time is the 22nd field, the name the second
  std::size_t place = name_end + 1;
  for (int i = 1; i < fields_between && place != std::string::npos; ++i) place = text.find(' ', place + 1);
  if (place == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(text).substr(place + 1);
  const auto ticks = take_number(rest);
  if (!ticks) return std::nullopt;
  return *ticks * (1'000'000'000U / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK)));
}

/// File names are PID-MADE-NUMBER-NAMESPACE.EXTENSION. MADE is in nanoseconds since boot.
struct NameOfFile {
  std::uint64_t pid;
  std::uint64_t made;
  std::uint64_t pid_namespace;
};
std::optional<NameOfFile> parse(std::string_view name) {
  const auto pid = take_number(name);
  if (!pid || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const auto made = take_number(name);
  if (!made || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  if (!take_number(name) || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const auto space = take_number(name);
  if (!name.empty() && !name.starts_with('.')) return std::nullopt;  // from another version
  return space ? std::optional(NameOfFile{*pid, *made, *space}) : std::nullopt;
}

/// Whether Blastoff has made the file: somebody may have put another one there.
bool is_ours(const std::string& name) {
  constexpr std::array<std::string_view, 4> extensions = {counter_extension, more_counters_extension,
                                                          description_extension, call_site_extension};
  return parse(name) && std::ranges::any_of(extensions, [&](std::string_view each) { return name.ends_with(each); });
}

/// Whether the process ran on another host; then nobody can know here whether it has ended. The description of a
/// process names its host near the top.
bool is_of_other_host(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(4096, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  const std::size_t key = begin.find("\"host\":");
  return key != std::string::npos && begin.find("\"host\": \"" + platform::host_name() + "\"") == std::string::npos;
}

}  // namespace

std::uint64_t pid_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool is_of_living_process(const std::string& name) {
  const auto file = parse(name);
  if (!file) return false;
  const std::uint64_t here = pid_namespace();
  if (here == 0) return kill(static_cast<pid_t>(file->pid), 0) == 0 || errno == EPERM;  // /proc is hidden
  if (file->pid_namespace != 0 && file->pid_namespace != here) return true;
  const auto started = started_at(file->pid);
  const std::uint64_t tick = 1'000'000'000U / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return started && *started <= file->made + tick;
}

bool keeps_removed_files(const char* directory) {
  struct statfs system {};
  if (statfs(directory, &system) != 0) return false;
  constexpr std::uint32_t cifs = 0xff534d42;  // not in <linux/magic.h> before 5.17
  constexpr std::uint32_t smb2 = 0xfe534d42;
  constexpr std::array<std::uint32_t, 8> by_name = {
      NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, cifs, smb2, V9FS_MAGIC, FUSE_SUPER_MAGIC, AFS_SUPER_MAGIC, CODA_SUPER_MAGIC};
  return std::ranges::find(by_name, static_cast<std::uint32_t>(system.f_type)) == by_name.end();
}

bool make_private_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) == 0) return true;
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 077U) == 0;
}

void remove_if_left(const std::string& directory) {
  std::vector<std::filesystem::path> found;
  for (const std::string& name : platform::names_in(directory)) {
    if (!is_ours(name)) continue;
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    const bool described = path.extension() == description_extension;
    if (is_of_living_process(name) || (described && is_of_other_host(path))) return;
    found.push_back(path);
  }
  for (const std::filesystem::path& path : found) unlink(path.c_str());
}

}  // namespace blastoff::report
