// Binding: what an exported name means for the calls from one object. It saves a call the search and the lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "intercept/loading/linker_changes.h"
#include "intercept/original.h"

namespace blastoff::intercept {

/// Bindings are never freed, and only `changes` is ever written again, because another thread may be reading. The code
/// of patch/forwarding_thunk.h reads the first four words.
struct Binding {
  std::uintptr_t begin = 0;  ///< where the calling object begins
  std::uintptr_t bytes = 0;
  std::atomic<std::uint64_t> changes{0};  ///< linker_changes() when the binding was last known to hold
  const void* target = nullptr;           ///< where a call goes: Blastoff's routine or somebody's own function
  Original original;
  Binding* next = nullptr;  ///< next binding of the same name

  bool is_of(const void* caller) const { return reinterpret_cast<std::uintptr_t>(caller) - begin < bytes; }
  bool holds() const { return changes.load(std::memory_order_acquire) == linker_changes(); }
};
static_assert(offsetof(Binding, bytes) == 8 && offsetof(Binding, changes) == 16 && offsetof(Binding, target) == 24);

/// The bindings of one name.
struct NameBindings {
  std::atomic<const Binding*> current{nullptr};  ///< the binding that is tried first; the thunk reads it
  std::atomic<Binding*> all{nullptr};
  std::atomic<std::uint32_t> misses{0};

  /// Returns the binding that holds now for a call by `caller`; nullptr: it has to be looked up.
  [[gnu::always_inline]] const Binding* find(const void* caller) const {
    const Binding* const known = current.load(std::memory_order_acquire);
    return known != nullptr && known->is_of(caller) && known->holds() ? known : nullptr;
  }
};

/// Remembers what original_for() has found for a call by `caller`. Such a call goes to `routine` if it is intercepted.
/// If several objects call the name, calls from one of them are found faster than calls from the others.
void bind(NameBindings& name, const EntryPoint& entry, const void* caller, const void* routine);

/// Returns where a call of an exported name by `caller` goes: to `routine`, which is Blastoff's, or to somebody's own
/// function. Binds the name.
const void* meaning_of(const EntryPoint& entry, const void* caller, const void* routine, NameBindings& bindings);

/// original_for() for a call whose name is not bound. The call comes from meaning_of(), which has just found the
/// original, and it is not looked up again.
Original original_of_call(const EntryPoint& entry, const void* caller);

}  // namespace blastoff::intercept
