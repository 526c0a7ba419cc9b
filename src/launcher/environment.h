// The environment that a program starts with: settings, preloaded libraries, huge pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/command_line.h"
#include "launcher/failure.h"

namespace blastoff::launcher {

/// Variables and values. A copy of this process's environment at first.
class Environment {
 public:
  Environment();

  /// The value; "" if the variable is not set.
  std::string_view get(std::string_view name) const;
  void set(const std::string& name, std::string_view value);
  /// Gives a variable the value that it has in this process, or unsets it.
  void restore(const std::string& name);

  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string>::const_iterator find(std::string_view name) const;
  std::vector<std::string> entries_;
};

/// The environment of the program. Makes the folders of reports and traces.
Expected<Environment> program_environment(const CommandLine& line, const std::string& library);

/// The environment of Blastoff's own processes for this program: the same settings, but nothing is preloaded.
Environment own_environment(const Environment& program);

}  // namespace blastoff::launcher
