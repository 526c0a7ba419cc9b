// Report paths that are no ordinary files: written as they are, since renaming would replace them by a file.
#pragma once

#include <sys/types.h>

#include <string>

namespace blastoff::report {

/// Whether nobody but this user and root can have put there what has this owner.
bool trusts(uid_t owner);

/// Whether a path plainly names a descriptor of this process (/dev/stdout, /dev/fd/3), a device, or a pipe. What
/// another user has put there, a pipe or a symbolic link, is none: a report takes its place, where the directory's
/// rights allow that.
bool is_special_file(const std::string& path);

/// Writes to it without ever blocking for long: errno as usual, and ENXIO for a pipe that nobody reads, ETIMEDOUT for
/// one whose reader does not go on.
bool write_special_file(const std::string& path, const std::string& text);

}  // namespace blastoff::report
