// Lines on stderr, without allocation, from any thread at any time.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// Looks which standard error stream the process has; called once when the library is loaded. Nothing is ever written
/// to another: the program may close the stream, and its number become a file of the program's. No descriptor is kept,
/// which would hold a pipe open.
void remember_stderr();

/// Writes the bytes to standard error as far as it takes them. Keeps errno.
void write_to_stderr(const char* text, std::size_t bytes);

/// Writes "blastoff: <text>\n" in one write(2). printf-like; longer than 1000 bytes is cut. Keeps errno.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace blastoff::platform
