// pdsyevd_, pzheevd_, ... of all routines.
#include "intercept/bound_name.h"
#include "intercept/scalapack/enter.h"
#include "intercept/words.h"

namespace blastoff::intercept {
namespace {

/// A call of an exported name by `caller`, a return address.
template <scalapack::Routine routine>
struct ScalapackNameCalled {
  const void* caller;
  const NameBindings& bindings;

  template <class... Words>
  [[gnu::always_inline]] long operator()(Words... words) const {
    const EntryPoint& entry = scalapack_entry_points[static_cast<std::size_t>(routine)];
    return enter_scalapack_routine<routine>(entry, original_of(bindings, entry, caller), words...);
  }
};

}  // namespace
}  // namespace blastoff::intercept

#define BLASTOFF_DEFINE_NAME(name, kind, scalar, library, local, words)                                          \
  BLASTOFF_DEFINE_BINDINGS(name##_)                                                                              \
  BLASTOFF_DEFINE_WORDS_FUNCTION(static, scalapack_##name, words,                                                \
                                 (blastoff::intercept::ScalapackNameCalled<blastoff::scalapack::Routine::name>{  \
                                     __builtin_return_address(0), blastoff_bindings_##name##_}))                 \
  BLASTOFF_BIND_NAME(                                                                                            \
      name##_,                                                                                                   \
      blastoff::intercept::scalapack_entry_points[static_cast<std::size_t>(blastoff::scalapack::Routine::name)], \
      &scalapack_##name)

BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_DEFINE_NAME)
