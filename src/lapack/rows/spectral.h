// Singular values, and eigenvalues of general matrices.
#pragma once

#include <array>

#include "lapack/check/families.h"
#include "lapack/kind.h"

namespace blastoff::lapack::rows {

inline constexpr auto spectral = [] {
  using enum Argument;
  using operation::Intent;
  return std::to_array<KindRow>({
      {.kind = Kind::gesdd,
       .family = Family::singular_values,
       .arguments = {job, m, n, a, lda, w, z, ldz, right, ld_right, work, lwork, rwork, iwork, info},
       .jobs = "asno",
       .supported = [](const Problem& problem) { return problem.job != 'o'; },
       .work_space = &work_space::gesdd,
       .a = &shapes::rectangle<Intent::read>,
       .z = &shapes::left_singular_vectors,
       .right = &shapes::right_singular_vectors,
       .values = Values::singular_values,
       .flops = &counts::singular_values,
       .sides = &sides::rectangle,
       .scales = true,
       .check = &check::singular_values},
      {.kind = Kind::gesvd,
       .family = Family::singular_values,
       .arguments = {job, job_right, m, n, a, lda, w, z, ldz, right, ld_right, work, lwork, rwork, info},
       .jobs = "asno",
       .supported = [](const Problem& problem) { return problem.job != 'o' && problem.job_right != 'o'; },
       .work_space = &work_space::gesvd,
       .a = &shapes::rectangle<Intent::read>,
       .z = &shapes::left_singular_vectors,
       .right = &shapes::right_singular_vectors,
       .values = Values::singular_values,
       .flops = &counts::singular_values,
       .sides = &sides::rectangle,
       .harmed_by_nan = true,
       .scales = true,
       .check = &check::singular_values},
      {.kind = Kind::geev,
       .family = Family::general_eigenproblem,
       .arguments = {job, job_right, n, a, lda, w, wi, z, ldz, right, ld_right, work, lwork, rwork, info},
       .supported = [](const Problem& problem) { return problem.job == 'n'; },
       .work_space = &work_space::geev,
       .a = &shapes::rectangle<Intent::read>,
       .right = &shapes::right_eigenvectors,
       .values = Values::complex_eigenvalues,
       .flops = [](const Sizes& of) { return (of.problem.job_right == 'v' ? 25 : 10) * of.cube(); },
       .relative_size = 0.6,
       .harmed_by_nan = true,
       .scales = true,
       .check = &check::general_eigenproblem},
  });
}();

}  // namespace blastoff::lapack::rows
