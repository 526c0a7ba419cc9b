// blastoff: the command. `blastoff run` is done here; all other commands are done by Python.
//
// The Python package asks this program too (python/blastoff/launcher.py):
//   blastoff --environment [OPTION...]            prints the environment of `blastoff run` with these options
//   blastoff --site                               prints the path of the site's defaults ("" if there are none), then
//   each
//                                                 as NAME=VALUE, then "" and each line that does not count
//   blastoff --build                              prints which state of the sources this program was built from
//   blastoff --find NAME                          prints the path of a program, looked up as the shell does
//   blastoff --preloadable FILE                   prints why nothing can be preloaded into this program; "" if it can
//   blastoff --python PYTHON FOLDER ARGUMENT...   uses this Python, and its package in this folder
// Each text that is printed ends with a null character.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "launcher/child.h"
#include "launcher/command_line.h"
#include "launcher/environment.h"
#include "launcher/executable.h"
#include "launcher/failure.h"
#include "launcher/installation.h"
#include "launcher/run.h"
#include "launcher/site.h"
#include "platform/log.h"

extern "C" const char blastoff_build_id[];  // cmake/build_id.cmake

namespace blastoff::launcher {

namespace {

using Words = std::vector<std::string>;

/// Files that are opened here must not get the number of a standard stream that is closed. The program gets it closed.
void keep_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0) open("/dev/null", O_RDWR | O_CLOEXEC);
}

int print(const Words& texts) {
  for (const std::string& text : texts) std::fwrite(text.c_str(), 1, text.size() + 1, stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}

Expected<int> print_environment(const Words& words) {
  const auto library = find_library();
  if (!library) return tl::unexpected(library.error());
  const auto line = read_command_line(words);
  if (!line) return tl::unexpected(line.error());
  if (const auto valid = check_variables(*line); !valid) return tl::unexpected(valid.error());
  const auto environment = program_environment(*line, *library);
  if (!environment) return tl::unexpected(environment.error());
  for (const std::string& problem : site_defaults().problems) platform::log_line("%s", problem.c_str());
  return print(environment->entries());
}

int print_site() {
  const SiteDefaults site = site_defaults();
  Words texts{site.path};
  for (const auto& [option, value] : site.values) texts.push_back(std::string(option->name) + "=" + value);
  texts.emplace_back();
  texts.insert(texts.end(), site.problems.begin(), site.problems.end());
  return print(texts);
}

Expected<int> print_path(const std::string& name) {
  const auto program = find_program(name);
  if (!program) return tl::unexpected(program.error());
  return print({*program});
}

Expected<int> print_obstacle(const std::string& program) {
  const auto obstacle = why_not_preloadable(program);
  if (!obstacle) return tl::unexpected(obstacle.error());
  return print({*obstacle});
}

/// Replaces this process by Python.
Expected<int> execute_python(const std::optional<Python>& chosen, const Words& words) {
  const auto python = chosen ? Expected<Python>(*chosen) : find_python();
  if (!python) return tl::unexpected(python.error());
  Words command = command_of(*python, "blastoff.command");
  command.insert(command.end(), words.begin(), words.end());
  execv(python->program.c_str(), pointers_to(command).data());
  return fail(python->program + ": " + std::strerror(errno), cannot_execute);
}

Expected<int> execute(Words words) {
  std::optional<Python> python;
  if (words.size() > 2 && words[0] == "--python") {
    python = Python{words[1], words[2]};
    words.erase(words.begin(), words.begin() + 3);
  }
  const std::string verb = words.empty() ? "" : words[0];
  const Words rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (verb == "--environment") return print_environment(rest);
  if (verb == "--build" && rest.empty()) return print({blastoff_build_id});
  if (verb == "--site" && rest.empty()) return print_site();
  if (verb == "--find" && rest.size() == 1) return print_path(rest[0]);
  if (verb == "--preloadable" && rest.size() == 1) return print_obstacle(rest[0]);
  if (verb != "run") return execute_python(python, words);
  const auto line = read_command_line(rest);
  if (!line) return tl::unexpected(line.error());
  if (line->asks_for_help) return execute_python(python, {"run", "--help"});
  return tl::unexpected(run(*line, python));
}

}  // namespace

}  // namespace blastoff::launcher

int main(int count, char** arguments) {
  using namespace blastoff;
  launcher::keep_standard_streams();
  const auto status = launcher::execute(launcher::Words(arguments + 1, arguments + count));
  if (status) return *status;
  platform::log_line("%s", status.error().message.c_str());
  return status.error().status;
}
