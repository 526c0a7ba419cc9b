// Whether memory can be read, even if the value may be no address at all.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// Whether a few bytes can be read; they must lie within two pages. Asks the kernel, which takes some tenths of a
/// microsecond.
bool is_readable(const void* place, std::size_t bytes);

}  // namespace blastoff::platform
