#include "launcher/run_directories.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <set>

#include "launcher/path.h"
#include "platform/descriptor.h"
#include "platform/folder.h"
#include "platform/process.h"
#include "report/counter_layout.h"
#include "report/leftovers.h"
#include "report/marks.h"
#include "report/run_space.h"
#include "report/said.h"

namespace blastoff::launcher {

namespace {

/// Most bytes that the processes of a run take in a file system in memory. With the other files there, a run takes less
/// than 1 MiB.
constexpr std::int64_t max_in_memory = std::int64_t{7} << 17;
constexpr std::int64_t unlimited = std::int64_t{1} << 62;
/// Seconds for which a directory may be without a member.
constexpr std::time_t being_made = 60;
/// The namespace of process ids that sees all processes of a machine (linux/proc_ns.h).
constexpr std::uint64_t initial_namespace = 0xEFFFFFFC;
/// Entries of a directory that has no members yet.
constexpr std::array<std::string_view, 7> without_members{
    report::quota_file, report::on_disk, report::marks_file, report::said_file, "energy", energy_lock, joined_file};

std::string of_user(const char* kind) {
  return std::string(kind) + "." + std::to_string(getuid()) + "." + platform::host_name() + ".";
}

/// Prefixes of the names of this user's directories on this machine.
std::string prefix() {
  return of_user("blastoff");
}
std::string disk_prefix() {
  return of_user("blastoff-disk");
}

std::string target_of(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

/// Whether a directory belongs to this user and no other user can access it.
bool is_ours(const std::string& directory) {
  struct stat status {};
  return lstat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid() &&
         (status.st_mode & 077U) == 0;
}

bool exists(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

/// Whether nothing has changed in the directory for a while.
bool is_old(const std::string& directory) {
  struct stat status {};
  return lstat(directory.c_str(), &status) == 0 && time(nullptr) - status.st_mtime > being_made;
}

void remove_all(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

std::vector<std::string> directories(const std::vector<std::string>& bases, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& base : bases)
    for (const std::string& name : platform::names_in(base))
      if (std::string path = path_of(base, name); name.starts_with(prefix) && is_ours(path))
        found.push_back(std::move(path));
  return found;
}

bool has_processes(std::uint64_t pid_namespace) {
  if (platform::pid_namespace() != initial_namespace) return true;  // it cannot be seen from here
  return std::ranges::any_of(platform::names_in("/proc"), [&](const std::string& process) {
    struct stat status {};
    const std::string link = path_of(path_of("/proc", process), "ns/pid");
    return stat(link.c_str(), &status) == 0 && status.st_ino == pid_namespace;
  });
}

std::vector<platform::ProcessName> members_of(const std::string& directory) {
  std::vector<platform::ProcessName> members;
  for (const std::string& name : files_of_run(directory)) {
    const auto member = name.starts_with(launcher_prefix)           ? read_launcher(path_of(directory, name))
                        : name.ends_with(report::counter_extension) ? report::maker_of(name)
                                                                    : std::nullopt;
    if (member) members.push_back(*member);
  }
  return members;
}

/// Whether all members of a run have ended. A run without members counts as ended only after a while: its first member
/// may be about to begin, or its members may be of another version, whose entries have other names.
bool is_left(const std::string& directory) {
  if (has_strangers(directory)) return false;
  const auto members = members_of(directory);
  if (!members.empty()) return std::ranges::none_of(members, is_running);
  const auto is_known = [](const std::string& name) {
    return std::ranges::find(without_members, name) != without_members.end();
  };
  return std::ranges::all_of(platform::names_in(directory), is_known) && is_old(directory);
}

/// Removes a directory if it is left. Its name ends at once, under its lock, so that whoever gets the lock later sees
/// that the name no longer exists.
void remove_if_left(const std::string& directory) {
  const platform::Descriptor file(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_left(directory)) return;
  const std::string renamed = directory + ".left-" + std::to_string(getpid());
  if (rename(directory.c_str(), renamed.c_str()) == 0) remove_run(renamed);
}

/// Whether the name of a directory on a disk ends as this version's do: .PID.NANOSECONDS.
bool is_of_this_version(const std::string& name) {
  const std::size_t last = name.rfind('.');
  const std::size_t before = last == 0 ? std::string::npos : name.rfind('.', last - 1);
  const auto is_number = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
  };
  return last != std::string::npos && before != std::string::npos &&
         is_number(std::string_view(name).substr(last + 1)) &&
         is_number(std::string_view(name).substr(before + 1, last - before - 1));
}

/// Whether no run uses a directory on a disk. (No run directory on this machine refers to it.)
bool is_left_on_disk(const std::string& disk) {
  return is_of_this_version(file_name(disk)) && is_old(disk) && !has_strangers(disk) &&
         std::ranges::none_of(members_of(disk), is_running);
}

}  // namespace

std::string nanoseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::to_string(std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec);
}

std::optional<platform::ProcessName> read_launcher(const std::string& entry) {
  const std::string text = target_of(entry);
  std::array<std::uint64_t, 3> numbers{};
  const char* next = text.data();
  const char* const end = next + text.size();
  for (std::uint64_t& number : numbers) {
    if (next != end && *next == ' ') ++next;
    const auto [stopped, error] = std::from_chars(next, end, number);
    if (error != std::errc{}) return std::nullopt;
    next = stopped;
    if (std::string_view(next, end).starts_with(".0")) next += 2;  // as Python wrote it in earlier versions
  }
  return next == end ? std::optional(platform::ProcessName{numbers[0], numbers[1], numbers[2]}) : std::nullopt;
}

bool write_launcher(const std::string& entry) {
  const auto pid = static_cast<std::uint64_t>(getpid());
  const std::string target = std::to_string(pid) + " " + std::to_string(platform::started_at(pid).value_or(0)) + " " +
                             std::to_string(platform::pid_namespace());
  unlink(entry.c_str());
  return symlink(target.c_str(), entry.c_str()) == 0;
}

bool is_running(const platform::ProcessName& member) {
  const auto living = platform::is_living(member);
  return living ? *living : has_processes(member.pid_namespace);
}

std::vector<std::string> files_of_run(const std::string& directory) {
  std::vector<std::string> names = platform::names_in(directory);
  for (std::string& name : platform::names_in(path_of(directory, report::on_disk))) names.push_back(std::move(name));
  return names;
}

bool has_strangers(const std::string& directory) {
  return std::ranges::any_of(files_of_run(directory), [&](const std::string& name) {
    if (name.ends_with(report::counter_extension)) return !report::maker_of(name);
    const std::string entry = path_of(directory, name);
    return name.starts_with(launcher_prefix) && exists(entry) && !read_launcher(entry);
  });
}

std::string bulk(const std::string& directory) {
  std::string disk = path_of(directory, report::on_disk);
  return access(disk.c_str(), F_OK) == 0 ? disk : directory;
}

void remove_run(const std::string& directory) {
  const std::string disk = target_of(path_of(directory, report::on_disk));
  if (file_name(disk).starts_with(disk_prefix()) && is_ours(disk)) remove_all(disk);
  remove_all(directory);
}

Places Places::of_environment() {
  const auto existing = [](std::initializer_list<const char*> paths) {
    std::vector<std::string> found;
    for (const char* const path : paths)
      if (path != nullptr && *path == '/' && std::ranges::find(found, path) == found.end()) found.emplace_back(path);
    return found;
  };
  return {existing({std::getenv("XDG_RUNTIME_DIR"), "/dev/shm"}), existing({std::getenv("TMPDIR"), "/tmp"})};
}

std::vector<std::string> Places::all() const {
  std::vector<std::string> bases = memory;
  for (const std::string& base : disk)
    if (std::ranges::find(bases, base) == bases.end()) bases.push_back(base);
  return bases;
}

std::string Places::create(const std::string& name) const {
  for (const std::string& base : all()) {
    if (!report::is_roomy(base.c_str(), 0)) continue;
    remove_if_left(path_of(base, prefix() + name));
    if (std::string made = create_in(base, name); !made.empty()) return made;
  }
  return "";
}

std::string Places::create_in(const std::string& base, const std::string& name) const {
  std::string directory = path_of(base, prefix() + name);
  if (exists(directory)) return is_ours(directory) ? directory : "";
  const std::string unfinished = directory + ".new-" + std::to_string(getpid());
  const bool in_memory = std::ranges::find(memory, base) != memory.end();
  if (mkdir(unfinished.c_str(), 0700) == 0 && furnish(unfinished, name, in_memory) &&
      rename(unfinished.c_str(), directory.c_str()) == 0)
    return directory;
  remove_run(unfinished);
  return is_ours(directory) ? directory : "";
}

bool Places::furnish(const std::string& directory, const std::string& name, bool in_memory) const {
  const std::int64_t quota = in_memory ? max_in_memory : unlimited;
  const platform::Descriptor file(
      open(path_of(directory, report::quota_file).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || write(file.get(), &quota, sizeof quota) != sizeof quota) return false;
  const std::string on_disk = in_memory ? create_on_disk(name) : "";
  return on_disk.empty() || symlink(on_disk.c_str(), path_of(directory, report::on_disk).c_str()) == 0;
}

std::string Places::create_on_disk(const std::string& name) const {
  for (const std::string& base : disk) {
    std::string directory =
        path_of(base, disk_prefix() + name) + "." + std::to_string(getpid()) + "." + nanoseconds_now();
    if (report::is_roomy(base.c_str(), 0) && mkdir(directory.c_str(), 0700) == 0) return directory;
  }
  return "";
}

void Places::sweep() const {
  for (const std::string& directory : directories(all(), prefix())) remove_if_left(directory);
  std::set<std::string> in_use;
  for (const std::string& directory : directories(all(), prefix()))
    for (const std::string& name : platform::names_in(directory)) in_use.insert(target_of(path_of(directory, name)));
  for (const std::string& on_disk : directories(disk, disk_prefix()))
    if (!in_use.contains(on_disk) && is_left_on_disk(on_disk)) remove_all(on_disk);
}

}  // namespace blastoff::launcher
