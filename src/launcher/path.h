// Paths as text.
#pragma once

#include <string>
#include <string_view>

namespace blastoff::launcher {

/// False for a relative path if the current directory has been deleted.
bool can_be_absolute(const std::string& path);

/// The path made absolute, without "." and empty components. It need not exist.
std::string absolute(const std::string& path);

/// The path without symbolic links; "" if it does not exist.
std::string resolved(const std::string& path);

/// "/usr/bin" and "env" of "/usr/bin/env".
std::string folder_of(const std::string& path);
std::string file_name(const std::string& path);

/// The path of a file in a folder.
std::string path_of(const std::string& folder, std::string_view name);

}  // namespace blastoff::launcher
