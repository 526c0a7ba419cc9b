// BLASTOFF_DEFINE_NAME defines one exported name.
//
// dgemm_, cblas_dgemm or dgemm may be a BLAS routine, or a program's own function with the same name. Blastoff must not
// read through an argument before it knows which. So the exported name passes the call on, either to Blastoff's routine
// or to the program's own function. That function finds its registers and the stack as the caller left them, and
// returns directly to the caller. Words on the stack are not even copied: they may be the caller's own variables, which
// other threads are writing. No program has functions of its own with 64 in the suffix.
#pragma once

#include "intercept/blas/define_hook.h"
#include "intercept/blas/entry_points.h"
#include "intercept/bound_name.h"

namespace blastoff::intercept {

/// A call of an exported name by `caller`, a return address.
template <EntryIndex index, abi::Style style, blas::Routine routine>
struct NameCalled {
  const void* caller;
  const NameBindings* bindings = nullptr;  ///< nullptr: the name has no bindings

  template <class... Values>
  [[gnu::always_inline]] void operator()(Values... values) const {
    const EntryPoint& entry = entry_point_table[static_cast<std::size_t>(index)];
    const Binding* const bound = bindings != nullptr ? bindings->find(caller) : nullptr;
    if (bound != nullptr) [[likely]]
      return enter_routine<style, routine>(entry, bound->original, values...);
    enter_routine<style, routine>(
        entry, bindings != nullptr ? original_of_call(entry, caller) : original_for(entry, caller), values...);
  }
};

}  // namespace blastoff::intercept

#define BLASTOFF_NAME_CALLED(name, index, style, ...)                                                        \
  (blastoff::intercept::NameCalled<blastoff::intercept::index, blastoff::abi::Style::style,                  \
                                   blastoff::blas::Routine::name>{__builtin_return_address(0) __VA_OPT__(, ) \
                                                                      __VA_ARGS__})

#define BLASTOFF_DEFINE_NAME_suffixed(symbol, name, style, kind)                             \
  extern "C" BLASTOFF_DEFINE_HOOK([[gnu::visibility("default")]], symbol, name, style, kind, \
                                  BLASTOFF_NAME_CALLED(name, EntryIndex::symbol, style))
#define BLASTOFF_DEFINE_NAME_ambiguous(symbol, name, style, kind)                                                \
  BLASTOFF_DEFINE_BINDINGS(symbol)                                                                               \
  BLASTOFF_DEFINE_HOOK(static, blas_##symbol, name, style, kind,                                                 \
                       BLASTOFF_NAME_CALLED(name, EntryIndex::symbol, style, &blastoff_bindings_##symbol))       \
  BLASTOFF_BIND_NAME(                                                                                            \
      symbol,                                                                                                    \
      blastoff::intercept::entry_point_table[static_cast<std::size_t>(blastoff::intercept::EntryIndex::symbol)], \
      &blas_##symbol)
#define BLASTOFF_DEFINE_NAME_undecorated BLASTOFF_DEFINE_NAME_ambiguous

#define BLASTOFF_DEFINE_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_NAME_##decoration(prefix##name##suffix, name, style, kind)
