#include "platform/folder.h"

#include <dirent.h>

#include <memory>
#include <string_view>

namespace blastoff::platform {

std::vector<std::string> names_in(const std::string& folder) {
  struct Close {
    void operator()(DIR* open) const { closedir(open); }
  };
  std::vector<std::string> names;
  const std::unique_ptr<DIR, Close> open(opendir(folder.c_str()));
  if (!open) return names;
  while (const dirent* const entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace blastoff::platform
