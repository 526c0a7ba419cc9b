// BLASTOFF_DEFINE_NAME defines one exported name.
//
// dgemm_, cblas_dgemm, dgemm: a BLAS routine, or a program's own function with the same name. Nothing may be read
// through an argument before it is known which. So the exported name passes the call on, to the BLAS routine of that
// name here or to the foreign function: that one finds its registers and the stack as the caller left them, and returns
// to the caller whatever it returns. Words on the stack are not even copied: they may be the caller's own variables,
// which other threads are writing. Names with 64 in their suffix are nobody's own.
#pragma once

#include <atomic>

#include "intercept/blas/define_hook.h"
#include "intercept/blas/entry_points.h"
#include "intercept/patch/forwarding_thunk.h"

namespace blastoff::intercept {

/// What meaning_of() has found for the call that this thread is making.
struct Meaning {
  const EntryPoint* entry = nullptr;
  const void* caller = nullptr;
  Original original;
};
[[gnu::tls_model("initial-exec")]] inline constinit thread_local Meaning latest_meaning;

/// A signal handler that comes between may have made calls, too.
[[gnu::always_inline]] inline Original meant(const EntryPoint& entry, const void* caller) {
  const Original original = latest_meaning.original;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (latest_meaning.entry == &entry && latest_meaning.caller == caller) [[likely]]
    return original;
  return original_for(entry, caller);
}

/// A call of an exported name by `caller`, a return address.
template <EntryIndex index, abi::Style style, blas::Routine routine, auto find_original>
struct NameCalled {
  const void* caller;

  template <class... Values>
  [[gnu::always_inline]] void operator()(Values... values) const {
    const EntryPoint& entry = entry_point_table[static_cast<std::size_t>(index)];
    enter_routine<style, routine>(entry, find_original(entry, caller), values...);
  }
};

/// What a call of an exported name means: the routine of that name here, or somebody's function.
template <class Function>
const void* meaning_of(EntryIndex index, const void* caller, Function* routine) {
  const EntryPoint& entry = entry_point_table[static_cast<std::size_t>(index)];
  const Original original = original_for(entry, caller);
  if (!original.intercepted) return original.function;
  latest_meaning = {&entry, caller, original};
  return reinterpret_cast<const void*>(routine);
}

}  // namespace blastoff::intercept

#define BLASTOFF_NAME_CALLED(name, index, style, find_original)                                        \
  (blastoff::intercept::NameCalled<blastoff::intercept::index, blastoff::abi::Style::style,            \
                                   blastoff::blas::Routine::name, blastoff::intercept::find_original>{ \
      __builtin_return_address(0)})

#define BLASTOFF_DEFINE_NAME_suffixed(symbol, name, style, kind)                             \
  extern "C" BLASTOFF_DEFINE_HOOK([[gnu::visibility("default")]], symbol, name, style, kind, \
                                  BLASTOFF_NAME_CALLED(name, EntryIndex::symbol, style, original_for))
#define BLASTOFF_DEFINE_NAME_ambiguous(symbol, name, style, kind)                                                    \
  BLASTOFF_DEFINE_HOOK(static, blas_##symbol, name, style, kind,                                                     \
                       BLASTOFF_NAME_CALLED(name, EntryIndex::symbol, style, meant))                                 \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] const void* blastoff_meaning_of_##symbol(const void* caller) { \
    return blastoff::intercept::meaning_of(blastoff::intercept::EntryIndex::symbol, caller, &blas_##symbol);         \
  }                                                                                                                  \
  BLASTOFF_FORWARDING_THUNK(symbol, blastoff_meaning_of_##symbol);
#define BLASTOFF_DEFINE_NAME_undecorated BLASTOFF_DEFINE_NAME_ambiguous

#define BLASTOFF_DEFINE_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_NAME_##decoration(prefix##name##suffix, name, style, kind)
