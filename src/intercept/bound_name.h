// Defines exported names whose calls go to Blastoff's routine, or to a program's own function of that name. That
// function finds its registers and the stack as the caller left them (blas/define_name.h).
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "intercept/binding.h"
#include "intercept/patch/forwarding_thunk.h"

/// The bindings of `symbol`, for the routine that BLASTOFF_BIND_NAME names.
#define BLASTOFF_DEFINE_BINDINGS(symbol)                                                                             \
  extern "C" {                                                                                                       \
  [[gnu::visibility("hidden"), gnu::used]] constinit blastoff::intercept::NameBindings blastoff_bindings_##symbol{}; \
  }

/// Defines `symbol`. `entry`: its entry point. `routine`: the address of Blastoff's function.
#define BLASTOFF_BIND_NAME(symbol, entry, routine)                                                                   \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] const void* blastoff_meaning_of_##symbol(const void* caller) { \
    return blastoff::intercept::meaning_of(entry, caller, reinterpret_cast<const void*>(routine),                    \
                                           blastoff_bindings_##symbol);                                              \
  }                                                                                                                  \
  BLASTOFF_BOUND_THUNK(symbol, blastoff_meaning_of_##symbol, blastoff_bindings_##symbol);

namespace blastoff::intercept {

/// The original of a call that has reached Blastoff's routine. `caller`: the return address of the call.
[[gnu::always_inline]] inline Original original_of(const NameBindings& bindings, const EntryPoint& entry,
                                                   const void* caller) {
  const Binding* const bound = bindings.find(caller);
  return bound != nullptr ? bound->original : original_of_call(entry, caller);
}

/// A call of an exported name, which Enter::enter() passes to the routine. `caller`: the return address of the call.
template <class Enter>
struct NameCalled {
  const EntryPoint& entry;
  const NameBindings& bindings;
  const void* caller;

  template <class... Values>
  [[gnu::always_inline]] auto operator()(Values... values) const {
    static_assert(std::is_trivially_destructible_v<Original>);
    const Binding* const bound = bindings.find(caller);
    alignas(Original) std::byte found[sizeof(Original)];  // made only where it is used
    const Original* const original =
        bound != nullptr ? &bound->original : new (found) Original(original_of_call(entry, caller));
    return Enter::enter(entry, *original, values...);
  }
};

}  // namespace blastoff::intercept

/// The call of `symbol` in the function that stands for it.
#define BLASTOFF_NAME_CALLED(symbol, entry, ...) \
  (blastoff::intercept::NameCalled<__VA_ARGS__>{entry, blastoff_bindings_##symbol, __builtin_return_address(0)})
