// BLASTOFF_DEFINE_NAME defines one exported name.
#pragma once

#include "intercept/blas/define_hook.h"
#include "intercept/blas/entry_points.h"

namespace blastoff::intercept {

/// A call of an exported name by `caller`, a return address.
template <EntryIndex index, abi::Style style, blas::Routine routine>
struct NameCalled {
  const void* caller;

  template <class... Values>
  [[gnu::always_inline]] void operator()(Values... values) const {
    const EntryPoint& entry = entry_point_table[static_cast<std::size_t>(index)];
    enter_routine<style, routine>(entry, original_for(entry, caller), values...);
  }
};

}  // namespace blastoff::intercept

#define BLASTOFF_NAME_CALLED(name, index, style)                                           \
  blastoff::intercept::NameCalled<blastoff::intercept::index, blastoff::abi::Style::style, \
                                  blastoff::blas::Routine::name> {                         \
    __builtin_return_address(0)                                                            \
  }

#define BLASTOFF_DEFINE_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar)   \
  BLASTOFF_DEFINE_HOOK([[gnu::visibility("default")]], prefix##name##suffix, name, style, kind, \
                       (BLASTOFF_NAME_CALLED(name, EntryIndex::prefix##name##suffix, style)))
