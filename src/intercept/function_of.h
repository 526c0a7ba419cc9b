// Functions that have the parameters of a routine.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

namespace blastoff::intercept {
namespace detail {

template <std::size_t>
using Word = void*;
template <std::size_t... each>
std::tuple<Word<each>...> words(std::index_sequence<each...>);

template <class Called, class Parameters>
struct FunctionOf;
template <class Called, class... Parameters>
struct FunctionOf<Called, std::tuple<Parameters...>> {
  static auto call(Parameters... arguments) { return Called::call(arguments...); }
};

}  // namespace detail

/// Parameters that are words: addresses, and integers that the callee reads from a whole word.
template <std::size_t count>
using Words = decltype(detail::words(std::make_index_sequence<count>{}));

/// The address of a function with the parameters Called::Parameters, a tuple. It returns Called::call(arguments...),
/// which is inlined, so that __builtin_return_address(0) there leads to the caller. Fortran's subroutines return
/// nothing, but libraries in C return an int that programs in C may read: it returns what the original does.
template <class Called>
inline constexpr auto function_of = &detail::FunctionOf<Called, typename Called::Parameters>::call;

}  // namespace blastoff::intercept
