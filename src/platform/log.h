// Lines on stderr, without allocation, from any thread at any time.
#pragma once

namespace blastoff::platform {

/// Writes "blastoff: <text>\n" in one write(2). printf-like; longer than 1000 bytes is cut. Keeps errno.
[[gnu::format(printf, 1, 2)]] void log_line(const char* format, ...);

}  // namespace blastoff::platform
