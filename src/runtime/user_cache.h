// Files that Blastoff keeps for a user.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace blastoff::runtime {

/// $XDG_CACHE_HOME/blastoff, or ~/.cache/blastoff; "" if neither variable holds an absolute path.
std::string user_cache();

/// The file's content, at most a MiB. nullopt unless it is an ordinary file: reading a pipe would block the call.
std::optional<std::string> content_of(const std::string& path);

/// Time since the file was last written; nullopt if there is no such file.
std::optional<std::chrono::seconds> age_of(const std::string& path);

/// Sets the file's time as if it had been written `age` ago.
void set_age(const std::string& path, std::chrono::seconds age);

}  // namespace blastoff::runtime
