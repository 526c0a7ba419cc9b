// Notifies libblastoff.so which memory goes away, where the kernel does not.
#pragma once

#include <cstddef>

namespace blastoff::allocator {

enum class MemoryEventKind : int { unmapped = 0, moved = 1, dropped = 2 };

/// Smaller blocks hold no matrix worth a mirror.
inline constexpr std::size_t notify_from = std::size_t{64} << 10;

/// Whether anybody wants to know: libblastoff.so is loaded and does not hear it from the kernel. Asked once.
bool has_listener();

/// Unmapped and moved memory: before it can become somebody else's. Dropped pages: afterwards.
void notify(MemoryEventKind kind, const void* begin, std::size_t bytes, const void* moved_to = nullptr);

/// Notifies of the blocks of the allocator behind ours too when they are freed or reallocated, while that is wanted.
void notify_of_released_blocks();

}  // namespace blastoff::allocator
