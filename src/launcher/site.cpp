#include "launcher/site.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "launcher/command_line.h"
#include "launcher/values.h"

namespace blastoff::launcher {

namespace {

constexpr const char* variable = "BLASTOFF_SITE_FILE";
constexpr std::string_view blanks = " \t\r";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(blanks) + 1 - first));
}

/// Adds what one line says; returns why it does not count.
std::string read_line(std::string_view line, SiteDefaults& site) {
  const std::size_t equals = line.find('=');
  const std::string name = trimmed(line.substr(0, equals));
  const config::Option* const option = find_option("--" + name);
  if (option == nullptr) return "unknown setting " + name;
  if (equals == std::string_view::npos) return name + " needs a value: " + name + " = VALUE";
  std::string value = trimmed(line.substr(equals + 1));
  if (const auto valid = check(*option, value, name); !valid) return valid.error().message;
  site.values.emplace_back(option, std::move(value));
  return "";
}

const char* default_path() {
  for (const config::Option& option : config::options())
    if (std::string_view(option.environment) == variable) return option.initial;
  return "";
}

}  // namespace

SiteDefaults site_defaults() {
  const char* const chosen = std::getenv(variable);
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  const std::string path = is_chosen ? chosen : default_path();
  SiteDefaults site;
  if (const std::string obstacle = obstacle_to_file(path); !obstacle.empty()) {
    if (is_chosen || access(path.c_str(), F_OK) == 0) site.problems.push_back(path + ": " + obstacle);
    return site;
  }
  std::ifstream file(path);
  site.path = path;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string text = trimmed(line);
    if (text.empty() || text.front() == '#') continue;
    if (const std::string problem = read_line(text, site); !problem.empty())
      site.problems.push_back(
          std::string(path).append(":").append(std::to_string(number)).append(": ").append(problem));
  }
  return site;
}

}  // namespace blastoff::launcher
