#include "allocator/notifications.h"

#include <sys/auxv.h>

#include <atomic>

#include "../../include/blastoff.h"
#include "allocator/next.h"

// Functions of libblastoff.so, if that is loaded.
#pragma weak blastoff_memory_event
#pragma weak blastoff_hears_of_memory

namespace blastoff::allocator {

namespace {

enum class Listener : unsigned char { unknown, being_asked, none, present };
constinit std::atomic<Listener> listener{Listener::unknown};

bool may_have_listener() {
  if (getauxval(AT_SECURE) != 0) return false;  // libblastoff.so does nothing in such a process
  return &blastoff_memory_event != nullptr && &blastoff_hears_of_memory != nullptr;
}

void notify_of_release(void* pointer) {
  if (pointer == nullptr) return;
  const std::size_t bytes = next.usable_size.load(std::memory_order_relaxed)(pointer);
  if (bytes >= notify_from) notify(MemoryEventKind::unmapped, pointer, bytes);
}

void notify_and_free(void* pointer) {
  notify_of_release(pointer);
  next.free.load(std::memory_order_relaxed)(pointer);
}

/// A block that stays in its place also loses its mirror: that is rare, and only costs time. The block's new place is
/// reported too, because the C library may have unmapped other memory there without notifying anybody.
void* notify_and_reallocate(void* pointer, std::size_t bytes) {
  notify_of_release(pointer);
  void* const moved = next.realloc.load(std::memory_order_relaxed)(pointer, bytes);
  if (moved != pointer) notify_of_release(moved);
  return moved;
}

}  // namespace

/// While the answer is not known, every event is reported: events of other threads, events of memory that the question
/// itself uses, and all events until libblastoff.so can answer.
bool has_listener() {
  const Listener known = listener.load(std::memory_order_relaxed);
  if (known != Listener::unknown) return known != Listener::none;
  if (may_have_listener()) listener.store(Listener::being_asked, std::memory_order_relaxed);
  const int answer = may_have_listener() ? blastoff_hears_of_memory() : 1;
  if (answer < 0) {
    listener.store(Listener::unknown, std::memory_order_relaxed);
    return true;
  }
  const bool present = answer == 0;
  listener.store(present ? Listener::present : Listener::none, std::memory_order_relaxed);
  if (!present) {
    release.free.store(next.free.load(std::memory_order_relaxed), std::memory_order_relaxed);
    release.realloc.store(next.realloc.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return present;
}

void notify(MemoryEventKind kind, const void* begin, std::size_t bytes, const void* moved_to) {
  if (bytes > 0 && has_listener()) blastoff_memory_event(static_cast<int>(kind), begin, bytes, moved_to);
}

void notify_of_released_blocks() {
  const bool possible = may_have_listener();
  release.free.store(possible ? notify_and_free : next.free.load(), std::memory_order_relaxed);
  release.realloc.store(possible ? notify_and_reallocate : next.realloc.load(), std::memory_order_relaxed);
}

}  // namespace blastoff::allocator
