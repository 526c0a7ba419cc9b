// dgemm, zherk, ...: Fortran without the underscore, or a function of somebody's own that happens to be called so.
//
// Nothing may be read through an argument before it is known which. What is no BLAS gets all that can hold arguments on
// the 64-bit ABIs of Linux, namely eight floating-point registers and at least sixteen integer registers and stack
// slots, in a tail call: the stack stays as the caller left it, and whatever the function returns stays in its
// registers.
#include <cstdint>
#include <utility>

#include "intercept/preload/thunk.h"

namespace blastoff::intercept {
namespace {

using Vector [[gnu::vector_size(16)]] = double;
using Slot = std::uintptr_t;
using AnyFunction = void(Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector,  //
                         Slot, Slot, Slot, Slot, Slot, Slot, Slot, Slot,                  //
                         Slot, Slot, Slot, Slot, Slot, Slot, Slot, Slot);

#define BLASTOFF_ANY_PARAMETERS                                                                                        \
  Vector v0, Vector v1, Vector v2, Vector v3, Vector v4, Vector v5, Vector v6, Vector v7, Slot s0, Slot s1, Slot s2,   \
      Slot s3, Slot s4, Slot s5, Slot s6, Slot s7, Slot s8, Slot s9, Slot s10, Slot s11, Slot s12, Slot s13, Slot s14, \
      Slot s15
#define BLASTOFF_ANY_VALUES \
  v0, v1, v2, v3, v4, v5, v6, v7, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15

template <EntryIndex index, blas::Routine routine, std::size_t... positions>
[[gnu::always_inline]] inline void enter_from_slots(const void* caller, const Slot* slots,
                                                    std::index_sequence<positions...>) {
  using Types = abi::ParameterTuple<abi::Style::fortran, row(routine).kind, row(routine).scalar>;
  enter_with<index, abi::Style::fortran, routine, Decoration::undecorated>(
      caller, (std::tuple_element_t<positions, Types>)(slots[positions])...);
}

/// The routine, tail-called by the exported name, so that the return address is still the program's.
template <EntryIndex index, blas::Routine routine>
void blas_routine(Vector, Vector, Vector, Vector, Vector, Vector, Vector, Vector, Slot s0, Slot s1, Slot s2, Slot s3,
                  Slot s4, Slot s5, Slot s6, Slot s7, Slot s8, Slot s9, Slot s10, Slot s11, Slot s12, Slot s13,
                  Slot s14, Slot s15) {
  using Types = abi::ParameterTuple<abi::Style::fortran, row(routine).kind, row(routine).scalar>;
  const Slot slots[] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15};
  enter_from_slots<index, routine>(__builtin_return_address(0), slots,
                                   std::make_index_sequence<std::tuple_size_v<Types>>{});
}

AnyFunction* choose(EntryIndex index, const void* caller, AnyFunction* blas_routine) {
  const Original original = original_for(entry_point_table[static_cast<std::size_t>(index)], caller);
  return original.is_blas ? blas_routine : reinterpret_cast<AnyFunction*>(original.function);
}

}  // namespace

// A tail call needs optimisation, and no bookkeeping of a sanitizer after it.
#ifdef __clang__
#define BLASTOFF_TAIL_CALL [[clang::musttail]] return
#define BLASTOFF_TAIL_CALLING [[gnu::visibility("default")]] __attribute__((no_sanitize("address", "thread")))
#else
#define BLASTOFF_TAIL_CALL return
#define BLASTOFF_TAIL_CALLING \
  [[gnu::visibility("default"), gnu::optimize("O2"), gnu::no_sanitize_address, gnu::no_sanitize_thread]]
#endif

#define BLASTOFF_DEFINE_UNDECORATED(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_TAIL_CALLING void prefix##name##suffix(BLASTOFF_ANY_PARAMETERS) {                         \
    constexpr EntryIndex index = EntryIndex::prefix##name##suffix;                                   \
    AnyFunction* const function =                                                                    \
        choose(index, __builtin_return_address(0), &blas_routine<index, blas::Routine::name>);       \
    BLASTOFF_TAIL_CALL function(BLASTOFF_ANY_VALUES);                                                \
  }
#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) \
  BLASTOFF_UNDECORATED_SPELLINGS(BLASTOFF_DEFINE_UNDECORATED, name, kind, scalar)

extern "C" {
BLASTOFF_ROUTINES(BLASTOFF_DEFINE_NAMES)
}

}  // namespace blastoff::intercept
