// Holds the program's arguments to pass them on unchanged.
#pragma once

#include <tuple>

namespace blastoff::intercept {

/// See RawArguments (intercept/dispatch.h).
template <class... Values>
struct PassedOn {
  std::tuple<Values...> values;
  const void* caller;  ///< return address of the call

  static void invoke(const void* self, void* original) {
    std::apply(reinterpret_cast<void (*)(Values...)>(original), static_cast<const PassedOn*>(self)->values);
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
