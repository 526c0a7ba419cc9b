// dswap_, dswap_64_, cblas_dswap, scipy_dswap_, ... of all routines. A program's own function of such a name finds its
// registers and the stack as the caller left them (intercept/blas/define_name.h).
#include "intercept/bound_name.h"
#include "intercept/dispatch.h"
#include "intercept/vectors/enter.h"
#include "intercept/vectors/entry_points.h"

namespace blastoff::intercept {
namespace {

template <VectorEntryIndex index, const NameBindings* bindings>
struct VectorNameCalled {
  [[gnu::always_inline]] static vectors::Callee find(const void* caller) {
    const Binding* const bound = bindings->find(caller);
    return {vector_entry_points[static_cast<std::size_t>(index)], bound != nullptr ? &bound->original : nullptr};
  }
};

}  // namespace

// A name that nothing defines ends the process, as BLAS's other names do.
Original vectors::look_up(const EntryPoint& entry, const void* caller) {
  const Original original = original_of_call(entry, caller);
  if (original.function != nullptr) return original;
  const RawArguments none{[](const void*, void*) {}, nullptr};
  dispatch({.entry = entry,
            .original = original,
            .raw = none,
            .front_end = blas::vectors(),
            .routine = entry.routine.number,
            .host = nullptr,
            .caller = caller},
           nullptr);
  return original;
}

}  // namespace blastoff::intercept

#define BLASTOFF_DEFINE_VECTOR_SYMBOL(symbol, name, style)                                                    \
  BLASTOFF_DEFINE_BINDINGS(symbol)                                                                            \
  BLASTOFF_BIND_NAME(symbol,                                                                                  \
                     blastoff::intercept::vector_entry_points[static_cast<std::size_t>(                       \
                         blastoff::intercept::VectorEntryIndex::symbol)],                                     \
                     (blastoff::intercept::vector_function<                                                   \
                         blastoff::intercept::VectorNameCalled<blastoff::intercept::VectorEntryIndex::symbol, \
                                                               &blastoff_bindings_##symbol>,                  \
                         blastoff::abi::Style::style, blastoff::blas::VectorRoutine::name>()))

#define BLASTOFF_DEFINE_VECTOR_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_VECTOR_SYMBOL(prefix##name##suffix, name, style)
#define BLASTOFF_DEFINE_NAMES(name, kind, scalar, factor) \
  BLASTOFF_VECTOR_SPELLINGS(BLASTOFF_DEFINE_VECTOR_NAME, name, kind, scalar)

BLASTOFF_VECTOR_ROUTINES(BLASTOFF_DEFINE_NAMES)
