// The common path of all hooks of ScaLAPACK.
#pragma once

#include <array>

#include "intercept/function_of.h"
#include "intercept/original.h"
#include "intercept/scalapack/entry_points.h"

namespace blastoff::intercept {

/// `words`: the routine's arguments, then the lengths of its letters. `caller`: the return address of the call.
void enter_scalapack(const EntryPoint& entry, const Original& original, scalapack::Routine routine, void* const* words,
                     const void* caller);

template <scalapack::Routine routine>
struct EnterScalapack {
  using Parameters = Words<scalapack::row(routine).words>;

  template <class... Each>
  [[gnu::always_inline]] static long enter(const EntryPoint& entry, const Original& original, Each... words) {
    const std::array<void*, sizeof...(Each)> array{words...};
    enter_scalapack(entry, original, routine, array.data(), __builtin_return_address(0));
    return 0;
  }
};

}  // namespace blastoff::intercept
