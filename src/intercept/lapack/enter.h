// The common path of all LAPACK hooks: state the call and pass it to dispatch().
#pragma once

#include <array>

#include "intercept/lapack/entry_points.h"
#include "intercept/original.h"
#include "lapack/kinds.h"

namespace blastoff::intercept {

/// `words`: the routine's arguments, then the lengths of its letters. `caller`: the return address of the call. Returns
/// what the original returned, or 0 if a device computed.
long enter_lapack(const EntryPoint& entry, const Original& original, lapack::Routine routine, void* const* words,
                  const void* caller);

template <lapack::Routine routine, class... Words>
[[gnu::always_inline]] inline long enter_lapack_routine(const EntryPoint& entry, const Original& original,
                                                        Words... words) {
  static_assert(sizeof...(Words) == lapack::argument_list(routine).words());
  const std::array<void*, sizeof...(Words)> array{words...};
  return enter_lapack(entry, original, routine, array.data(), __builtin_return_address(0));
}

}  // namespace blastoff::intercept
