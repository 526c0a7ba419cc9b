// The common path of all LAPACK hooks: state the call and pass it to dispatch().
#pragma once

#include <array>
#include <bit>
#include <type_traits>

#include "intercept/function_of.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/original.h"
#include "lapack/kinds.h"

namespace blastoff::intercept {

/// What a routine returns. A function in single precision returns a float, which is the lower half of the register of a
/// double: the whole register is passed on, whatever a library returns in it.
template <lapack::Routine routine>
using LapackReturned = std::conditional_t<lapack::row(lapack::row(routine).kind).returns_value, double, long>;

/// `words`: the routine's arguments, then the lengths of its letters. `caller`: the return address of the call. Returns
/// what the original returned; for functions, the bits of their value. Returns 0 for a subroutine that a device ran.
long enter_lapack(const EntryPoint& entry, const Original& original, lapack::Routine routine, void* const* words,
                  const void* caller);

template <lapack::Routine routine>
struct EnterLapack {
  using Parameters = Words<lapack::argument_list(routine).words()>;

  template <class... Each>
  [[gnu::always_inline]] static LapackReturned<routine> enter(const EntryPoint& entry, const Original& original,
                                                              Each... words) {
    const std::array<void*, sizeof...(Each)> array{words...};
    return std::bit_cast<LapackReturned<routine>>(
        enter_lapack(entry, original, routine, array.data(), __builtin_return_address(0)));
  }
};

}  // namespace blastoff::intercept
