// Notifies libblastoff.so of freed memory, if the kernel does not.
#pragma once

#include <cstddef>

namespace blastoff::allocator {

enum class MemoryEventKind : int { unmapped = 0, moved = 1, dropped = 2 };

/// Smaller blocks hold no matrix for which a mirror pays.
inline constexpr std::size_t notify_from = std::size_t{64} << 10;

/// Whether notifications are wanted: libblastoff.so is loaded and gets no events from the kernel. Asks libblastoff.so
/// until it knows.
bool has_listener();

/// Notifies libblastoff.so. Unmapped and moved memory is reported before its addresses can be reused, dropped pages
/// afterwards.
void notify(MemoryEventKind kind, const void* begin, std::size_t bytes, const void* moved_to = nullptr);

/// Makes frees and reallocations of other allocators' blocks notify libblastoff.so as long as that is wanted.
void notify_of_released_blocks();

}  // namespace blastoff::allocator
