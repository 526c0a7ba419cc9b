// Routines as test parameters and as template arguments.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "blas/routine.h"
#include "blas/shape.h"

namespace blastoff::blas {

inline void PrintTo(Routine routine, std::ostream* out) {
  *out << row(routine).name;
}

}  // namespace blastoff::blas

namespace blastoff::test {

inline std::vector<blas::Routine> every_routine() {
  std::vector<blas::Routine> result;
  for (std::size_t i = 0; i < blas::routine_count; ++i) result.push_back(static_cast<blas::Routine>(i));
  return result;
}

inline std::string routine_name(const testing::TestParamInfo<blas::Routine>& info) {
  return row(info.param).name;
}

/// Calls `function.template operator()<kind, scalar>()`.
template <class Function>
void with_routine(blas::Routine routine, Function&& function) {
  using blas::Kind;
  using blas::Scalar;
  blas::with_kind(row(routine).kind, [&]<Kind kind>() {
    constexpr bool hermitian = kind == Kind::hemm || kind == Kind::herk || kind == Kind::her2k;
    switch (row(routine).scalar) {
      case Scalar::s:
        if constexpr (!hermitian) function.template operator()<kind, Scalar::s>();
        break;
      case Scalar::d:
        if constexpr (!hermitian) function.template operator()<kind, Scalar::d>();
        break;
      case Scalar::c: function.template operator()<kind, Scalar::c>(); break;
      case Scalar::z: function.template operator()<kind, Scalar::z>(); break;
    }
  });
}

}  // namespace blastoff::test
