// Lines on stderr, without allocation, from any thread at any time.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// Looks whether the process has a standard error stream; called once when the library is loaded. Where it has none,
/// nothing is ever written: the descriptor may become a file of the program's.
void remember_stderr();

/// Writes the bytes to standard error as far as it takes them. Keeps errno.
void write_to_stderr(const char* text, std::size_t bytes);

/// Writes "blastoff: <text>\n" in one write(2). printf-like; longer than 1000 bytes is cut. Keeps errno.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace blastoff::platform
