// Lines on stderr, without allocation, from any thread at any time.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// Records which standard error stream the process has; called once when the library is loaded. Nothing is ever written
/// to another stream: the program may close this one, and a file of the program may get its number. No descriptor is
/// kept, because it would keep a pipe open.
void remember_stderr();

/// Writes the bytes to standard error, or as many as it accepts. Keeps errno.
void write_to_stderr(const char* text, std::size_t bytes);

/// Writes "blastoff: <text>\n" in one write(2). printf-like; a text of more than 1000 bytes is cut. Keeps errno.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace blastoff::platform
