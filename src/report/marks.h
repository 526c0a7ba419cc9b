// Marks for phases of the program, for tools that sample its memory.
#pragma once

#include <cstddef>

namespace blastoff::report {

inline constexpr char marks_file[] = "marks";
inline constexpr std::size_t max_mark_bytes = std::size_t{1} << 20;  ///< of the file; later marks are dropped
inline constexpr int longest_mark = 100;                             ///< bytes of a name

/// Appends a line to the run's file of marks: nanoseconds since boot, process id, name. The launcher has made the file
/// if it samples; else this returns at once. Makes system calls only.
void mark(const char* name);

}  // namespace blastoff::report
