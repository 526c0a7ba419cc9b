// The program's arguments, to be passed on as they came.
#pragma once

#include <tuple>

namespace blastoff::intercept {

/// See RawArguments (intercept/dispatch.h).
template <class... Values>
struct PassedOn {
  std::tuple<Values...> values;
  const void* caller;  ///< where the call returns to

  static void invoke(const void* self, void* original) {
    std::apply(reinterpret_cast<void (*)(Values...)>(original), static_cast<const PassedOn*>(self)->values);
  }
};

}  // namespace blastoff::intercept
