// Whether memory can be read, for bytes that may be no address at all.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// Whether a few bytes, which lie within two pages, can be read. Asks the kernel, which takes some tenths of a
/// microsecond.
bool is_readable(const void* place, std::size_t bytes);

}  // namespace blastoff::platform
