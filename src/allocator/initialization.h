// Initialises this library at the first call of any of its functions.
#pragma once

namespace blastoff::allocator {

/// Finds the next allocator's functions, and decides whether frees of its blocks notify libblastoff.so. Returns false
/// in a call that this function itself causes; the caller then uses the C library.
bool initialize();

}  // namespace blastoff::allocator
