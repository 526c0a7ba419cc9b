#include "launcher/command_line.h"

#include <algorithm>
#include <cstdlib>

#include "config/accepted.h"
#include "config/option_value.h"
#include "launcher/values.h"

namespace blastoff::launcher {

namespace {

tl::unexpected<Failure> unknown(std::string_view flag) {
  std::vector<std::string> flags{"--help"};
  for (const config::Option& option : config::options())
    if (option.scope != config::Scope::environment) flags.push_back(std::string("--") + option.name);
  const std::string near = config::similar_word(flag, flags);
  return fail("run: unknown option " + std::string(flag) +
              (near.empty() ? "; blastoff run --help lists the options" : " (did you mean " + near + "?)"));
}

}  // namespace

const config::Option* find_option(std::string_view flag) {
  if (!flag.starts_with("--")) return nullptr;
  flag.remove_prefix(2);
  for (const config::Option& option : config::options())
    if (option.scope != config::Scope::environment && flag == option.name) return &option;
  return nullptr;
}

Expected<void> check(const config::Option& option, const std::string& value, const std::string& named) {
  const bool fits = config::parse_value(option.accepted, value).has_value();
  const std::string obstacle = fits ? obstacle_to(option, value) : "";
  if (fits && obstacle.empty()) return {};
  return fail("invalid value " + named + "=" + value + (fits ? ": " + obstacle : "") +
              "; accepted: " + config::describe_accepted(option.accepted));
}

bool CommandLine::gives(const config::Option& option) const {
  return std::ranges::any_of(given, [&](const auto& one) { return one.first == &option; });
}

Expected<CommandLine> read_command_line(std::span<const std::string> words) {
  CommandLine line;
  std::size_t next = 0;
  while (next < words.size() && words[next].starts_with('-')) {
    const std::string& word = words[next++];
    line.last_option = word;
    if (word == "--") break;
    if (word == "-h" || word == "--help") return CommandLine{.asks_for_help = true};
    const std::size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    const config::Option* const option = find_option(flag);
    if (option == nullptr) return unknown(flag);
    std::string value(option->accepted.bare_value);
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (value.empty()) {
      if (next == words.size() || words[next].starts_with("--"))
        return fail("run: " + flag + " needs a value: " + config::describe_accepted(option->accepted));
      value = words[next++];
      line.last_option.clear();
    }
    if (const auto valid = check(*option, value, flag); !valid) return tl::unexpected(valid.error());
    line.given.emplace_back(option, value);
  }
  line.program.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return line;
}

Expected<void> check_variables(const CommandLine& line) {
  for (const config::Option& option : config::options()) {
    const char* const value = std::getenv(option.environment);
    if (value == nullptr || *value == '\0' || line.gives(option)) continue;
    if (auto valid = check(option, value, option.environment); !valid) return valid;
  }
  return {};
}

std::string value_hint(const CommandLine& line, std::string_view word) {
  const config::Option* const option = find_option(line.last_option);
  if (option == nullptr || option->accepted.bare_value.empty() || !config::parse_value(option->accepted, word))
    return "";
  return "; the value of " + line.last_option + " follows after an equals sign: " + line.last_option + "=" +
         std::string(word);
}

}  // namespace blastoff::launcher
