#include "allocator/telling.h"

#include <sys/auxv.h>

#include <atomic>

#include "../../include/blastoff.h"
#include "allocator/next.h"

// Of libblastoff.so, where that is loaded.
#pragma weak blastoff_memory_event
#pragma weak blastoff_hears_of_memory

namespace blastoff::allocator {

namespace {

enum class Listener : unsigned char { unknown, being_asked, none, present };
constinit std::atomic<Listener> listener{Listener::unknown};

bool can_be_listened_to() {
  if (getauxval(AT_SECURE) != 0) return false;  // there libblastoff.so does nothing
  return &blastoff_memory_event != nullptr && &blastoff_hears_of_memory != nullptr;
}

void tell_of_release(void* pointer) {
  if (pointer == nullptr) return;
  const std::size_t bytes = next.usable_size.load(std::memory_order_relaxed)(pointer);
  if (bytes >= told_from) tell(Gone::unmapped, pointer, bytes);
}

void free_and_tell(void* pointer) {
  tell_of_release(pointer);
  next.free.load(std::memory_order_relaxed)(pointer);
}

/// A block that stays where it is loses its mirror too: rare, and only slower. Where it goes to, the C library may have
/// unmapped other memory without a word.
void* reallocate_and_tell(void* pointer, std::size_t bytes) {
  tell_of_release(pointer);
  void* const moved = next.realloc.load(std::memory_order_relaxed)(pointer, bytes);
  if (moved != pointer) tell_of_release(moved);
  return moved;
}

}  // namespace

/// While the answer is awaited, everything is told: by other threads, and of the memory that finding the answer takes.
bool listened_to() {
  const Listener known = listener.load(std::memory_order_relaxed);
  if (known != Listener::unknown) return known != Listener::none;
  if (can_be_listened_to()) listener.store(Listener::being_asked, std::memory_order_relaxed);
  const bool present = can_be_listened_to() && blastoff_hears_of_memory() == 0;
  listener.store(present ? Listener::present : Listener::none, std::memory_order_relaxed);
  if (!present) {
    release.free.store(next.free.load(std::memory_order_relaxed), std::memory_order_relaxed);
    release.realloc.store(next.realloc.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return present;
}

void tell(Gone kind, const void* begin, std::size_t bytes, const void* moved_to) {
  if (bytes > 0 && listened_to()) blastoff_memory_event(static_cast<int>(kind), begin, bytes, moved_to);
}

void tell_of_released_blocks() {
  const bool possible = can_be_listened_to();
  release.free.store(possible ? free_and_tell : next.free.load(), std::memory_order_relaxed);
  release.realloc.store(possible ? reallocate_and_tell : next.realloc.load(), std::memory_order_relaxed);
}

}  // namespace blastoff::allocator
