// Notifies libblastoff.so of freed memory, if the kernel does not.
#pragma once

#include <cstddef>

namespace blastoff::allocator {

enum class MemoryEventKind : int { unmapped = 0, moved = 1, dropped = 2 };

/// Smaller blocks hold no matrix worth a mirror.
inline constexpr std::size_t notify_from = std::size_t{64} << 10;

/// Whether notifications are wanted: libblastoff.so is loaded and gets no events from the kernel. Asked once.
bool has_listener();

/// Unmapped and moved memory is reported before its addresses can be reused, dropped pages afterwards.
void notify(MemoryEventKind kind, const void* begin, std::size_t bytes, const void* moved_to = nullptr);

/// Makes frees and reallocations of the other allocator's blocks notify libblastoff.so, while that is wanted.
void notify_of_released_blocks();

}  // namespace blastoff::allocator
