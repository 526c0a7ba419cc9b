// Report paths that are not ordinary files. They are written directly, because renaming would replace them by a file.
#pragma once

#include <sys/types.h>

#include <string>

namespace blastoff::report {

/// Whether a file with this owner can only have been created by this user or by root.
bool trusts(uid_t owner);

/// Whether a path names a descriptor of this process (/dev/stdout, /dev/fd/3), a device, or a pipe. A pipe or symbolic
/// link that another user has created does not count: a report replaces it, if the permissions of the directory allow
/// that.
bool is_special_file(const std::string& path);

/// Writes `text` to the file without blocking for long. errno as usual; ENXIO for a pipe without a reader, ETIMEDOUT
/// for a reader that takes more than two seconds.
bool write_special_file(const std::string& path, const std::string& text);

}  // namespace blastoff::report
