// How much of a file system the counters of a run may take: what the program needs is never taken from it.
#pragma once

#include <cstddef>

namespace blastoff::report {

/// The file in the directory of a run that tells how many bytes its processes may still take there (8 bytes, in the
/// machine's order). `blastoff run` makes it; a directory without it has no such limit.
inline constexpr char quota_file[] = "quota";

/// The link in the directory of a run to one on a disk, which takes what has no room in memory.
inline constexpr char on_disk[] = "disk";

/// Nothing is taken from a file system with less than that.
inline constexpr std::size_t least_free_bytes = std::size_t{16} << 20;

/// Whether so many bytes may be taken in the directory; they then count as taken. Makes system calls only.
bool take_space(const char* directory, std::size_t bytes);

/// Bytes that were taken, and are no longer in use.
void return_space(const char* directory, std::size_t bytes);

}  // namespace blastoff::report
