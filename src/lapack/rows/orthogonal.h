// QR factorization and least squares.
#pragma once

#include <array>

#include "lapack/check/families.h"
#include "lapack/kind.h"

namespace blastoff::lapack::rows {

inline constexpr auto orthogonal = [] {
  using enum Argument;
  using operation::Intent;
  return std::to_array<KindRow>({
      {.kind = Kind::geqrf,
       .family = Family::orthogonal,
       .action = Action::factor,
       .arguments = {m, n, a, lda, tau, work, lwork, info},
       .work_space = &work_space::columns,
       .a = &shapes::rectangle<Intent::update>,
       .flops = [](const Sizes& of) { return 2 * of.low * of.low * (of.high - of.low / 3); },
       .sides = &sides::rectangle,
       .check = &check::factorization},
      {.kind = Kind::orgqr,
       .family = Family::orthogonal,
       .action = Action::generate,
       .arguments = {m, n, k, a, lda, tau, work, lwork, info},
       .sizes_accepted = [](const Problem& problem) { return problem.n <= problem.m && problem.k <= problem.n; },
       .work_space = &work_space::columns,
       .a = &shapes::rectangle<Intent::update>,
       .factors_given = true,
       .flops =
           [](const Sizes& of) {
             return 4 * of.m * of.n * of.k - 2 * (of.m + of.n) * of.k * of.k + 4 * of.k * of.k * of.k / 3;
           },
       .sides = &sides::reflectors,
       .check = &check::orthogonal_factor},
      {.kind = Kind::ormqr,
       .family = Family::orthogonal,
       .action = Action::multiply,
       .arguments = {side, trans, m, n, k, a, lda, tau, b, ldb, work, lwork, info},
       .adjoint_only = true,
       .sizes_accepted =
           [](const Problem& problem) { return problem.k <= (problem.side == 'l' ? problem.m : problem.n); },
       .work_space = &work_space::ormqr,
       .a = &shapes::reflectors,
       .b = &shapes::rectangle<Intent::update>,
       .factors_given = true,
       .flops =
           [](const Sizes& of) {
             return of.problem.side == 'l' ? 2 * of.n * of.k * (2 * of.m - of.k) : 2 * of.m * of.k * (2 * of.n - of.k);
           },
       .sides = &sides::reflectors,
       .relative_size = 1,
       .check = &check::orthogonal_factor},
      {.kind = Kind::gels,
       .family = Family::least_squares,
       .arguments = {trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info},
       .adjoint_only = true,
       .supported =  // least squares only, no solution of least norm
       [](const Problem& problem) { return problem.m >= problem.n && problem.trans == 'n'; },
       .work_space = &work_space::gels,
       .a = &shapes::rectangle<Intent::update>,
       .b = &shapes::long_right_sides,
       .flops =
           [](const Sizes& of) { return 2 * of.low * of.low * (of.high - of.low / 3) + 4 * of.high * of.low * of.k; },
       .sides = &sides::rectangle,
       .scales = true,
       .check = &check::least_squares},
      {.kind = Kind::gelsd,
       .family = Family::least_norm,
       .arguments = {m, n, nrhs, a, lda, b, ldb, w, rcond, rank, work, lwork, rwork, iwork, info},
       .supported = [](const Problem& problem) { return problem.rcond() < 1; },
       .work_space = &work_space::gelsd,
       .a = &shapes::rectangle<Intent::read>,
       .b = &shapes::long_right_sides,
       .values = Values::singular_values,
       .flops = [](const Sizes& of) { return counts::bidiagonal(of) + 8 * of.high * of.low * of.k; },
       .sides = &sides::rectangle,
       .harmed_by_nan = true,
       .scales = true,
       .check = &check::least_norm},
      {.kind = Kind::gelss,
       .family = Family::least_norm,
       .arguments = {m, n, nrhs, a, lda, b, ldb, w, rcond, rank, work, lwork, rwork, info},
       .supported = [](const Problem& problem) { return problem.rcond() < 1; },
       .work_space = &work_space::gelss,
       .a = &shapes::rectangle<Intent::update>,
       .b = &shapes::long_right_sides,
       .values = Values::singular_values,
       .flops =
           [](const Sizes& of) {
             return 4 * of.high * of.low * of.low + 8 * of.low * of.low * of.low + 4 * of.high * of.low * of.k;
           },
       .sides = &sides::rectangle,
       .harmed_by_nan = true,
       .scales = true,
       .check = &check::least_norm},
  });
}();

}  // namespace blastoff::lapack::rows
