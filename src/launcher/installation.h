// Where the parts of Blastoff are: the library, the Python package, and a Python that can run it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/failure.h"

namespace blastoff::launcher {

struct Installation {
  std::string shared_object;  ///< libblastoff.so, where the installation has it
  std::string package;        ///< the folder that contains the Python package
};

/// Finds the installation around this program: a build folder in a checkout, a prefix, or a Python environment.
std::optional<Installation> find_installation();

/// Returns the library's absolute path: BLASTOFF_LIBRARY, or that of the installation. Refuses a path that cannot be an
/// entry of LD_PRELOAD.
Expected<std::string> find_library();

/// The allocation interposer that belongs to the library.
std::string allocator_beside(const std::string& library);

/// A Python and the folder that contains the package.
struct Python {
  std::string program{};
  std::string package{};
};

/// Finds the first Python that is new enough beside this program or in PATH, and the package of the installation.
Expected<Python> find_python();

/// A command that calls main() of a module of the package.
std::vector<std::string> command_of(const Python& python, const std::string& module);

}  // namespace blastoff::launcher
