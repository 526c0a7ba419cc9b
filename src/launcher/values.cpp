#include "launcher/values.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "config/routine_choice.h"
#include "device/simulated/notation.h"
#include "launcher/routine_names.h"
#include "platform/process.h"
#include "report/context.h"
#include "report/file.h"

namespace blastoff::launcher {

namespace {

std::string obstacle_to_directory(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return std::strerror(ENOTDIR);
  return access(path.c_str(), R_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

/// The library reads the model later and says what else is wrong with it.
std::string obstacle_to_model(const std::string& path) {
  if (std::string wrong = obstacle_to_file(path); !wrong.empty()) return wrong;
  return mentions(path, "\"blastoff_machine\"") ? "" : "not a machine model";
}

/// Lines are appended to the file. No directory is made for it.
std::string obstacle_to_log(const std::string& path) {
  report::Context context;
  context.pid = getpid();
  context.rank = platform::global_rank();
  context.host = platform::host_name();
  const std::string file = report::expand_path(report::report_pattern(path, ".log"), context);
  struct stat status {};
  if (stat(file.c_str(), &status) == 0) return access(file.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : folder + ": " + std::strerror(errno);
}

std::string obstacle_to_fault(std::string_view text) {
  const std::size_t slash = text.find('/');
  const bool digits =
      slash != 0 && slash != std::string_view::npos &&
      std::ranges::all_of(text.substr(0, slash), [](char letter) { return letter >= '0' && letter <= '9'; });
  if (digits) text.remove_prefix(slash + 1);
  if (device::simulated::read_fault(text)) return "";
  std::string names;
  for (const std::string_view name : device::simulated::operation_names)
    names.append(names.empty() ? "" : ", ").append(name);
  return "not understood; OPERATION is one of " + names + ", N counts from 1, and wrong is for execute only";
}

std::string obstacle_to_rates(std::string_view text) {
  if (device::simulated::read_rates(text, [](std::size_t, double) {})) return "";
  return "not understood; NAME is one of link, device, cpu, launch and start";
}

std::string obstacle_to_routines(const std::string& list) {
  const std::vector<std::string> names = routine_names();
  const auto choice = config::RoutineChoice::read(list, names);
  return choice ? "" : choice.error();
}

}  // namespace

std::string obstacle_to_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return std::strerror(EISDIR);
  return access(path.c_str(), R_OK) == 0 ? "" : std::strerror(errno);
}

bool mentions(const std::string& path, std::string_view word) {
  constexpr std::size_t max_bytes = 1 << 20;
  std::string text(max_bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), max_bytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.find(word) != std::string::npos;
}

std::string obstacle_to(const config::Option& option, const std::string& value) {
  constexpr std::string_view to_file = "calls=";
  const std::string_view name = option.name;
  if (value.empty()) return "";
  if (name == "cuda-path") return obstacle_to_directory(value);
  if (name == "model") return value == "none" ? "" : obstacle_to_model(value);
  if (name == "log") return value.starts_with(to_file) ? obstacle_to_log(value.substr(to_file.size())) : "";
  if (name == "routines") return obstacle_to_routines(value);
  if (name == "simulated-rates") return obstacle_to_rates(value);
  if (name == "simulated-fault") return obstacle_to_fault(value);
  return "";
}

}  // namespace blastoff::launcher
