// What an exported name means to the callers of one object, so that a call needs neither a search nor a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "intercept/loading/linker_changes.h"
#include "intercept/original.h"

namespace blastoff::intercept {

/// Never freed and, except for `changes`, never written again: a thread may be reading it. The code of
/// patch/forwarding_thunk.h reads the first four words.
struct Binding {
  std::uintptr_t begin = 0;  ///< of the calling object
  std::uintptr_t bytes = 0;
  std::atomic<std::uint64_t> changes{0};  ///< linker_changes() when it was known to hold
  const void* target = nullptr;           ///< where a call goes on: the routine here, or somebody's function
  Original original;
  Binding* next = nullptr;  ///< of the same name

  bool is_of(const void* caller) const { return reinterpret_cast<std::uintptr_t>(caller) - begin < bytes; }
  bool holds() const { return changes.load(std::memory_order_acquire) == linker_changes(); }
};
static_assert(offsetof(Binding, bytes) == 8 && offsetof(Binding, changes) == 16 && offsetof(Binding, target) == 24);

/// The bindings of one name.
struct NameBindings {
  std::atomic<const Binding*> current{nullptr};  ///< the one that is tried first; the thunk reads it
  std::atomic<Binding*> all{nullptr};
  std::atomic<std::uint32_t> misses{0};

  /// What holds for a call by `caller` now; nullptr: it has to be looked up.
  [[gnu::always_inline]] const Binding* find(const void* caller) const {
    const Binding* const known = current.load(std::memory_order_acquire);
    return known != nullptr && known->is_of(caller) && known->holds() ? known : nullptr;
  }
};

/// Remembers what original_for() has found for a call by `caller`, which goes on to `routine` if it is intercepted.
/// Where several objects call the name, one of them is found more quickly than the others.
void bind(NameBindings& name, const EntryPoint& entry, const void* caller, const void* routine);

}  // namespace blastoff::intercept
