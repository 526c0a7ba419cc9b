// The command line of `blastoff run`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.h"
#include "launcher/failure.h"

namespace blastoff::launcher {

struct CommandLine {
  bool asks_for_help = false;  ///< nothing else was read then
  std::vector<std::pair<const config::Option*, std::string>> given{};
  std::string last_option{};           ///< the word before the program
  std::vector<std::string> program{};  ///< the program and its arguments

  bool gives(const config::Option& option) const;
};

/// The option that is written so ("--policy"); nullptr if `blastoff run` has no such option.
const config::Option* find_option(std::string_view flag);

/// Checks a value. `named`: how the user wrote the option.
Expected<void> check(const config::Option& option, const std::string& value, const std::string& named);

/// Reads options and a program with its arguments. The program is the first word that is neither an option nor the
/// value of one. An option that may be given without a value takes one only after "=", so that `--verify ./a.out` runs
/// ./a.out.
Expected<CommandLine> read_command_line(std::span<const std::string> words);

/// Checks the variables of the options that the command line does not give. An empty variable counts as not set.
Expected<void> check_variables(const CommandLine& line);

/// Returns a hint if the last option would accept the word, which is no program, as its value (`--verify off`); else
/// "".
std::string value_hint(const CommandLine& line, std::string_view word);

}  // namespace blastoff::launcher
