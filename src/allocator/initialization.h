// What happens at the first call of any function of this library.
#pragma once

namespace blastoff::allocator {

/// Finds the functions behind ours and, as soon as there is an environment, reads the settings. False in a call that
/// this function itself causes; the caller then uses the C library.
bool initialize();

}  // namespace blastoff::allocator
