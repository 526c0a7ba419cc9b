// Files that Blastoff keeps for a user.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace blastoff::runtime {

/// $XDG_CACHE_HOME/blastoff, or ~/.cache/blastoff; "" where the variables name none.
std::string user_cache();

/// Nothing for what is no ordinary file: a pipe would keep the call waiting. At most a MiB.
std::optional<std::string> content_of(const std::string& path);

/// Since the file was last written; nothing where there is none.
std::optional<std::chrono::seconds> age_of(const std::string& path);

/// As if it had been written so long ago.
void set_age(const std::string& path, std::chrono::seconds age);

}  // namespace blastoff::runtime
