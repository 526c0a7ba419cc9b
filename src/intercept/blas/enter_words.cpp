#include "intercept/blas/enter_words.h"

#include <utility>

#include "intercept/blas/enter.h"

namespace blastoff::intercept {
namespace {

template <class Value>
Value value_of(void* word) {
  if constexpr (std::is_pointer_v<Value>)
    return static_cast<Value>(word);
  else
    return reinterpret_cast<Value>(word);
}

template <blas::Kind kind, blas::Scalar scalar>
auto arguments_of(void* const* words, const void* caller) {
  using Parameters = abi::ParameterTuple<abi::Style::fortran, kind, scalar>;
  const auto read = [&]<std::size_t... positions>(std::index_sequence<positions...>) {
    return PassedOnTuple<Parameters>{{value_of<std::tuple_element_t<positions, Parameters>>(words[positions])...},
                                     caller};
  };
  return read(std::make_index_sequence<std::tuple_size_v<Parameters>>{});
}

template <blas::Kind kind, blas::Scalar scalar>
void enter_by_words(const EntryPoint& entry, const Original& original, void* const* words, const void* caller) {
  enter<abi::Style::fortran, kind, scalar>(entry, original, arguments_of<kind, scalar>(words, caller));
}

template <blas::Kind kind, blas::Scalar scalar>
bool parse_words(blas::Call& call, blas::Routine routine, void* const* words) {
  return parse<abi::Style::fortran, kind, scalar, std::int32_t>(&call, routine,
                                                                arguments_of<kind, scalar>(words, nullptr));
}

}  // namespace

void enter_blas(const EntryPoint& entry, const Original& original, blas::Routine routine, void* const* words,
                const void* caller) {
  using Enter = void (*)(const EntryPoint&, const Original&, void* const*, const void*);
  static constexpr Enter routines[] = {
#define BLASTOFF_ENTER(name, kind, scalar) &enter_by_words<blas::Kind::kind, blas::Scalar::scalar>,
      BLASTOFF_ROUTINES(BLASTOFF_ENTER)
#undef BLASTOFF_ENTER
  };
  routines[static_cast<std::size_t>(routine)](entry, original, words, caller);
}

bool parse_blas(blas::Call& call, blas::Routine routine, void* const* words) {
  using Parse = bool (*)(blas::Call&, blas::Routine, void* const*);
  static constexpr Parse routines[] = {
#define BLASTOFF_PARSE(name, kind, scalar) &parse_words<blas::Kind::kind, blas::Scalar::scalar>,
      BLASTOFF_ROUTINES(BLASTOFF_PARSE)
#undef BLASTOFF_PARSE
  };
  return routines[static_cast<std::size_t>(routine)](call, routine, words);
}

}  // namespace blastoff::intercept
