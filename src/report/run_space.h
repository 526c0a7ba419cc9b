// How much of a file system the counters of a run may take, so that the program has what it needs.
#pragma once

#include <cstddef>

namespace blastoff::report {

/// A file in the directory of a run, which holds how many more bytes its processes may take there (8 bytes, in the
/// machine's order). `blastoff run` makes it; a directory without it has no such limit.
inline constexpr char quota_file[] = "quota";

/// A link in the directory of a run to a directory on a disk, for files that have no room in memory.
inline constexpr char on_disk[] = "disk";

/// Nothing is taken from a file system with less free space than this.
inline constexpr std::size_t min_free_bytes = std::size_t{16} << 20;

/// Whether so much may be taken from the directory's file system.
bool is_roomy(const char* directory, std::size_t bytes);

/// Whether `bytes` may be taken in the directory; if so, they count as taken. Makes system calls only.
bool take_space(const char* directory, std::size_t bytes);

/// Gives back bytes that are no longer in use.
void return_space(const char* directory, std::size_t bytes);

}  // namespace blastoff::report
