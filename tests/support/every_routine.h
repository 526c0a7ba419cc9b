// Routines as parameters of tests and as template arguments.
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

/// All routines but the batches, which have tests of their own.
inline std::vector<blas::Routine> every_routine() {
  std::vector<blas::Routine> result;
  for (std::size_t i = 0; i < blas::routine_count; ++i)
    if (!is_batch(blas::routines()[i].kind)) result.push_back(static_cast<blas::Routine>(i));
  return result;
}

inline std::string routine_name(const testing::TestParamInfo<blas::Routine>& info) {
  return row(info.param).name;
}

/// Calls `function.template operator()<kind, scalar>()`, except for batches.
template <class Function>
void with_routine(blas::Routine routine, Function&& function) {
  using blas::Kind;
  using blas::Scalar;
  blas::with_kind(row(routine).kind, [&]<Kind kind>() {
    const auto with = [&]<Scalar scalar>() {
      if constexpr (exists(kind, scalar) && !is_batch(kind)) function.template operator()<kind, scalar>();
    };
    switch (row(routine).scalar) {
      case Scalar::s: return with.template operator()<Scalar::s>();
      case Scalar::d: return with.template operator()<Scalar::d>();
      case Scalar::c: return with.template operator()<Scalar::c>();
      case Scalar::z: return with.template operator()<Scalar::z>();
    }
  });
}

}  // namespace blastoff::test
