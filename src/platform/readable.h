// Whether memory can be read, for bytes that may be no address at all.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// Of a few bytes that lie within two pages. Asks the kernel: some tenths of a microsecond.
bool is_readable(const void* place, std::size_t bytes);

}  // namespace blastoff::platform
