// Norms: of a matrix, and of one that is symmetric, or Hermitian if it is complex, of which one triangle is given.
#pragma once

#include <array>

#include "lapack/check/families.h"
#include "lapack/kind.h"

namespace blastoff::lapack::rows {

inline constexpr auto norms = [] {
  using enum Argument;
  using operation::Intent;
  const auto norm = [](KindRow row) {
    row.family = Family::norm;
    row.jobs = "m1oife";
    row.work_space = &work_space::norm;
    row.returns_value = true;
    row.keeps_input = true;
    row.check = &check::norm;
    return row;
  };
  return std::to_array<KindRow>({
      norm({.kind = Kind::lange, .arguments = {job, m, n, a, lda, work}, .a = &shapes::rectangle<Intent::read>}),
      norm({.kind = Kind::lansy, .arguments = {job, uplo, n, a, lda, work}, .a = &shapes::triangle<Intent::read>}),
  });
}();

}  // namespace blastoff::lapack::rows
