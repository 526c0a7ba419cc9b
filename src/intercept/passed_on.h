// Holds the program's arguments to pass them on unchanged.
#pragma once

#include <tuple>

namespace blastoff::intercept {

/// See RawArguments (intercept/dispatch.h).
template <class... Values>
struct PassedOn {
  std::tuple<Values...> values;
  const void* caller;         ///< return address of the call
  mutable long returned = 0;  ///< what the original returned, in a library in C

  static void invoke(const void* self, void* original) {
    const auto& call = *static_cast<const PassedOn*>(self);
    call.returned = std::apply(reinterpret_cast<long (*)(Values...)>(original), call.values);
  }
};

namespace detail {
template <class Tuple>
struct PassedOnOf;
template <class... Values>
struct PassedOnOf<std::tuple<Values...>> {
  using type = PassedOn<Values...>;
};
}  // namespace detail

/// PassedOn for the values of a tuple.
template <class Tuple>
using PassedOnTuple = typename detail::PassedOnOf<Tuple>::type;

}  // namespace blastoff::intercept
