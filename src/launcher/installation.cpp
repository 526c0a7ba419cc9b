#include "launcher/installation.h"

#include <spawn.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "launcher/executable.h"
#include "launcher/path.h"
#include "launcher/values.h"
#include "platform/folder.h"

namespace blastoff::launcher {

namespace {

constexpr int oldest_minor = 10;

/// Runs a module's main(). Nothing is imported from the current directory. Ctrl-C ends it as it ends other programs,
/// also while modules are imported.
constexpr const char* starter = R"(import sys
try:
  package = sys.argv.pop(1)
  sys.path[:] = filter(None, sys.path)
  package in sys.path or sys.path.insert(0, package)
  from importlib import import_module
  sys.exit(import_module(sys.argv.pop(1)).main())
except KeyboardInterrupt:
  import os, signal
  signal.signal(signal.SIGINT, signal.SIG_DFL)
  os.kill(os.getpid(), signal.SIGINT))";

std::string called_as() {
  const auto* const name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return absolute(name == nullptr ? "" : name);
}

std::string own_file() {
  const std::string file = resolved("/proc/self/exe");
  return file.empty() ? resolved(called_as()) : file;
}

/// The folders of Python environments in which the wheel may have put the package, if its program is in `folder`.
std::vector<std::string> site_packages(const std::string& folder) {
  std::vector<std::string> found;
  for (const char* const libraries : {"/../lib", "/../lib64"})
    for (const std::string& python : platform::names_in(folder + libraries))
      for (const char* const packages : {"site-packages", "dist-packages"})
        if (python.starts_with("python3")) found.push_back(path_of(path_of(folder + libraries, python), packages));
  return found;
}

bool is_python(const std::string& path) {
  return access(path.c_str(), X_OK) == 0;
}

/// Whether a Python is new enough. Usually its name tells, since python3 is a link to python3.N.
bool is_new_enough(const std::string& python) {
  constexpr std::string_view prefix = "python3.";
  const std::string name = file_name(resolved(python));
  int minor = 0;
  const char* const end = name.data() + name.size();
  if (name.starts_with(prefix) && std::from_chars(name.data() + prefix.size(), end, minor).ptr == end)
    return minor >= oldest_minor;
  std::string words[] = {python, "-S", "-c", "import sys; sys.exit(sys.version_info < (3, 10))"};
  char* const command[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t child = 0;
  int status = 0;
  return posix_spawn(&child, command[0], nullptr, nullptr, command, environ) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

std::string find_new_enough(const std::string& package) {
  for (const std::string& folder : {folder_of(own_file()), folder_of(called_as())})
    if (std::string beside = path_of(folder, "python3"); is_python(beside) && is_new_enough(beside)) return beside;
  std::vector<std::string> names{"python3",    "python3.14", "python3.13",      "python3.12",
                                 "python3.11", "python3.10", "/usr/bin/python3"};
  // What else the package needs is probably where pip has put the package, for one version of Python.
  if (std::string version = file_name(folder_of(package)); version.starts_with("python3"))
    names.insert(names.begin(), std::move(version));
  for (const std::string& name : names)
    if (const auto found = find_program(name); found && is_new_enough(*found)) return *found;
  return "";
}

}  // namespace

std::optional<Installation> find_installation() {
  const std::string here = folder_of(own_file());
  std::vector<Installation> possible{{here + "/../libblastoff.so", here + "/../../python"},
                                     {here + "/" BLASTOFF_LIBDIR_FROM_BINDIR "/libblastoff.so",
                                      here + "/" BLASTOFF_LIBDIR_FROM_BINDIR "/blastoff/python"},
                                     {here + "/libblastoff.so", here + "/../.."}};
  for (const std::string& folder : site_packages(here))
    possible.push_back({folder + "/blastoff/lib/libblastoff.so", folder});
  for (const Installation& one : possible)
    if (access(one.shared_object.c_str(), F_OK) == 0 &&
        access((one.package + "/blastoff/command.py").c_str(), F_OK) == 0)
      return Installation{resolved(folder_of(one.shared_object)) + "/libblastoff.so", resolved(one.package)};
  return std::nullopt;
}

Expected<std::string> find_library() {
  const char* const chosen = std::getenv("BLASTOFF_LIBRARY");
  std::string path;
  if (chosen != nullptr && *chosen != '\0')
    path = absolute(chosen);
  else if (const auto installation = find_installation())
    path = installation->shared_object;
  if (access(path.c_str(), F_OK) != 0)
    return fail("libblastoff.so was not found at " + (path.empty() ? own_file() : path) +
                "; set BLASTOFF_LIBRARY to its path");
  if (!mentions(path, "blastoff_global_rank"))
    return fail(path + " is not libblastoff.so; set BLASTOFF_LIBRARY to its path");
  if (path.find_first_of(" :\t\n") != std::string::npos)
    return fail(path +
                ": a path in LD_PRELOAD cannot contain a space or a colon; set BLASTOFF_LIBRARY to another copy");
  return path;
}

std::string allocator_beside(const std::string& library) {
  return folder_of(library) + "/libblastoff-allocator.so";
}

Expected<Python> find_python() {
  const auto installation = find_installation();
  if (!installation) return fail("the Python package of Blastoff was not found around " + own_file());
  const std::string program = find_new_enough(installation->package);
  if (!program.empty()) return Python{program, installation->package};
  return fail(
      "needs Python 3.10 or newer, which is not in PATH; the library works without it: LD_PRELOAD=libblastoff.so");
}

std::vector<std::string> command_of(const Python& python, const std::string& module) {
  return {python.program, "-c", starter, python.package, module};
}

}  // namespace blastoff::launcher
