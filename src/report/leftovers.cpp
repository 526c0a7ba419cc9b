#include "report/leftovers.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
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

/// Whether Blastoff has made the file: somebody may have put another one there.
bool is_ours(const std::string& name) {
  constexpr std::array<std::string_view, 4> extensions = {counter_extension, more_counters_extension,
                                                          description_extension, call_site_extension};
  return maker_of(name) && std::ranges::any_of(extensions, [&](std::string_view each) { return name.ends_with(each); });
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

std::optional<platform::ProcessName> maker_of(std::string_view name) {
  const auto pid = take_number(name);
  if (!pid || *pid > std::numeric_limits<pid_t>::max() || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const auto made = take_number(name);
  if (!made || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  if (!take_number(name) || !name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  const auto space = take_number(name);
  if (!name.empty() && !name.starts_with('.')) return std::nullopt;  // from another version
  return space ? std::optional(platform::ProcessName{*pid, *made, *space}) : std::nullopt;
}

bool is_of_living_process(const std::string& name) {
  const auto maker = maker_of(name);
  return maker && platform::is_living(*maker).value_or(true);
}

bool keeps_removed_files(const char* directory) {
  struct statfs system {};
  if (statfs(directory, &system) != 0) return false;
  constexpr std::uint32_t fuse = 0x65735546;  // not in <linux/magic.h> before 5.16 and 5.17
  constexpr std::uint32_t cifs = 0xff534d42;
  constexpr std::uint32_t smb2 = 0xfe534d42;
  constexpr std::array<std::uint32_t, 8> by_name = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, cifs, smb2, V9FS_MAGIC, fuse,
                                                    AFS_SUPER_MAGIC, CODA_SUPER_MAGIC};
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
