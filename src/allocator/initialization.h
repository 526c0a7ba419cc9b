// What happens at the first call of any of our functions.
#pragma once

namespace blastoff::allocator {

/// Finds the functions behind ours and, once there is an environment, reads the settings. False in a call made
/// meanwhile by what this itself calls; the caller serves it from the C library.
bool initialize();

}  // namespace blastoff::allocator
