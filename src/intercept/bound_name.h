// Defines exported names whose calls go to Blastoff's routine, or to a program's own function of that name. That
// function finds its registers and the stack as the caller left them (blas/define_name.h).
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "intercept/binding.h"
#include "intercept/function_of.h"
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

// Each file has its own, so that its functions need no names.
namespace {

/// A call of an exported name, which Enter::enter() passes to the routine. `entries[index]`: the entry point.
template <class Enter, const auto& entries, auto index, const NameBindings& bindings>
struct NameCalled {
  using Parameters = typename Enter::Parameters;

  template <class... Values>
  [[gnu::always_inline]] static auto call(Values... values) {
    static_assert(std::is_trivially_destructible_v<Original>);
    constexpr const EntryPoint& entry = entries[static_cast<std::size_t>(index)];
    const void* const caller = __builtin_return_address(0);
    const Binding* const bound = bindings.find(caller);
    alignas(Original) std::byte found[sizeof(Original)];  // made only where it is used
    const Original* const original =
        bound != nullptr ? &bound->original : new (found) Original(original_of_call(entry, caller));
    return Enter::enter(entry, *original, values...);
  }
};

}  // namespace
}  // namespace blastoff::intercept

/// Defines `symbol`. The last argument is its Enter; the other arguments are as for NameCalled.
#define BLASTOFF_DEFINE_NAME_OF(symbol, entries, index, ...)           \
  BLASTOFF_DEFINE_BINDINGS(symbol)                                     \
  BLASTOFF_BIND_NAME(symbol, entries[static_cast<std::size_t>(index)], \
                     (blastoff::intercept::function_of<                \
                         blastoff::intercept::NameCalled<__VA_ARGS__, entries, index, blastoff_bindings_##symbol>>))
