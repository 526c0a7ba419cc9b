#include "launcher/executable.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "launcher/path.h"
#include "platform/descriptor.h"

namespace blastoff::launcher {

namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_executable(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && !is_directory(path);
}

std::string in_path(const std::string& name) {
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (!rest.empty()) {
    const std::string folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (std::string path = path_of(folder, name); is_executable(path)) return path;
  }
  return "";
}

/// How the program gains privileges when it is executed, so that the dynamic linker ignores LD_PRELOAD; "" if it does
/// not.
std::string why_privileged(const std::string& program) {
  struct stat status {};
  struct statvfs system {};
  if (stat(program.c_str(), &status) != 0) return "";
  if (statvfs(program.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return "";
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid())
    return "a setuid program, for which the system ignores LD_PRELOAD";
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getegid())
    return "a setgid program, for which the system ignores LD_PRELOAD";
  if (geteuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities, so the system ignores LD_PRELOAD";
  return "";
}

/// It runs other programs, and the preloaded library reaches these.
bool is_launcher(const std::string& program) {
  struct stat status {};
  struct stat own {};
  return stat(program.c_str(), &status) == 0 && stat("/proc/self/exe", &own) == 0 && status.st_dev == own.st_dev &&
         status.st_ino == own.st_ino;
}

bool read_at(int file, void* to, std::size_t bytes, std::uint64_t offset) {
  return pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

/// Whether a program is for this machine: this launcher is.
bool is_native(const ElfW(Ehdr) & header) {
  ElfW(Ehdr) own{};
  const platform::Descriptor launcher(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!launcher || !read_at(launcher.get(), &own, sizeof own, 0)) return true;
  return header.e_ident[EI_CLASS] == own.e_ident[EI_CLASS] && header.e_ident[EI_DATA] == own.e_ident[EI_DATA] &&
         header.e_machine == own.e_machine;
}

/// The dynamic linker that a program of this machine names; "" if it names none. nullopt if the file is broken.
std::optional<std::string> read_interpreter(int file, const ElfW(Ehdr) & header) {
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!read_at(file, &segment, sizeof segment, header.e_phoff + i * header.e_phentsize)) return std::nullopt;
    if (segment.p_type != PT_INTERP) continue;
    std::string interpreter(std::min<std::size_t>(segment.p_filesz, PATH_MAX), '\0');
    if (!read_at(file, interpreter.data(), interpreter.size(), segment.p_offset)) return std::nullopt;
    return interpreter.c_str();
  }
  return "";
}

}  // namespace

Expected<std::string> find_program(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos;
  if (is_path ? is_executable(name) : !name.empty() && !in_path(name).empty()) return is_path ? name : in_path(name);
  if (!is_path || access(name.c_str(), F_OK) != 0) {
    if (is_path && errno == EACCES) return fail(name + ": " + std::strerror(EACCES), cannot_execute);
    return fail(name + ": no such program", not_found);
  }
  return fail(name + (is_directory(name) ? ": is a directory" : ": is not executable"), cannot_execute);
}

Expected<std::string> why_not_preloadable(const std::string& program) {
  if (std::string why = why_privileged(program); !why.empty()) return why;
  if (is_launcher(program)) return "";
  const platform::Descriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  ElfW(Ehdr) header{};
  // It may be executable without being readable.
  if (!file || !read_at(file.get(), header.e_ident, SELFMAG, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "";
  const auto broken = fail(program + ": " + std::strerror(ENOEXEC), cannot_execute);
  if (!read_at(file.get(), &header, sizeof header, 0)) return broken;
  if (!is_native(header)) return "built for another architecture, so this library cannot be preloaded into it";
  const auto interpreter = read_interpreter(file.get(), header);
  if (!interpreter) return broken;
  if (interpreter->empty()) return "statically linked, so nothing can be preloaded into it";
  if (interpreter->substr(interpreter->rfind('/') + 1).starts_with("ld-musl"))
    return "linked with musl, but this library needs glibc";
  return "";
}

}  // namespace blastoff::launcher
