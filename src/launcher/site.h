// The site's defaults: a file with a line "NAME = VALUE" for each option that has another default on this machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/options.h"

namespace blastoff::launcher {

struct SiteDefaults {
  std::string path;  ///< "" if there is no such file
  std::vector<std::pair<const config::Option*, std::string>> values;
  std::vector<std::string> problems;  ///< lines that do not count, and why
};

/// Reads the file that BLASTOFF_SITE_FILE names, or /etc/blastoff.conf.
SiteDefaults site_defaults();

}  // namespace blastoff::launcher
