// Norms: of a matrix, and of one that is symmetric, or Hermitian if it is complex, of which one triangle is given.
#pragma once

#include <array>

#include "lapack/check/families.h"
#include "lapack/kind.h"

namespace blastoff::lapack::rows {

inline constexpr auto norms = [] {
  using enum Argument;
  using operation::Intent;
  constexpr std::string_view letters = "m1oife";
  return std::to_array<KindRow>({
      {.kind = Kind::lange,
       .family = Family::norm,
       .arguments = {job, m, n, a, lda, work},
       .jobs = letters,
       .work_space = &work_space::norm,
       .a = &shapes::rectangle<Intent::read>,
       .returns_value = true,
       .keeps_input = true,
       .check = &check::norm},
      {.kind = Kind::lansy,
       .family = Family::norm,
       .arguments = {job, uplo, n, a, lda, work},
       .jobs = letters,
       .work_space = &work_space::norm,
       .a = &shapes::triangle<Intent::read>,
       .returns_value = true,
       .keeps_input = true,
       .check = &check::norm},
  });
}();

}  // namespace blastoff::lapack::rows
