// Factorizations of square matrices, the solves with them, and inverses; row exchanges and copies.
#pragma once

#include <array>

#include "lapack/check/families.h"
#include "lapack/kind.h"

namespace blastoff::lapack::rows {

inline constexpr auto linear_systems = [] {
  using enum Argument;
  using operation::Intent;
  const auto with = [](Action action, auto* check, KindRow row) {
    row.action = action;
    row.check = check;
    return row;
  };
  const auto factor = [&](const KindRow& row) { return with(Action::factor, &check::factorization, row); };
  const auto invert = [&](const KindRow& row) { return with(Action::invert, &check::inverse, row); };
  const auto factor_and_solve = [&](KindRow row) {
    row.b = &shapes::right_sides;
    return with(Action::factor_and_solve, &check::solution, row);
  };
  const auto solve = [&](KindRow row) {
    row.b = &shapes::right_sides;
    row.sides = &sides::solve;
    row.keeps_input = true;
    return with(Action::solve, &check::solution, row);
  };
  return std::to_array<KindRow>(
      {
          factor({.kind = Kind::potrf,
                  .family = Family::cholesky,
                  .arguments = {uplo, n, a, lda, info},
                  .a = &shapes::triangle<Intent::update>,
                  .flops = [](const Sizes& of) { return of.cube() / 3; },
                  .relative_size = 0.6}),
          solve({.kind = Kind::potrs,
                 .family = Family::cholesky,
                 .arguments = {uplo, n, nrhs, a, lda, b, ldb, info},
                 .a = &shapes::triangle<Intent::read>,
                 .flops = [](const Sizes& of) { return 2 * of.n * of.n * of.k; },
                 .relative_size = 1}),
          factor_and_solve({.kind = Kind::posv,
                            .family = Family::cholesky,
                            .arguments = {uplo, n, nrhs, a, lda, b, ldb, info},
                            .a = &shapes::triangle<Intent::update>,
                            .flops = [](const Sizes& of) { return of.cube() / 3 + 2 * of.n * of.n * of.k; },
                            .relative_size = 0.6}),
          invert({.kind = Kind::potri,
                  .family = Family::cholesky,
                  .arguments = {uplo, n, a, lda, info},
                  .a = &shapes::triangle<Intent::update>,
                  .flops = [](const Sizes& of) { return 2 * of.cube() / 3; },
                  .relative_size = 0.6}),
          factor({.kind = Kind::getrf,
                  .family = Family::lu,
                  .arguments = {m, n, a, lda, ipiv, info},
                  .a = &shapes::rectangle<Intent::update>,
                  .flops = [](const Sizes& of) { return of.low * of.low * (of.high - of.low / 3); },
                  .sides = &sides::rectangle}),
          solve({.kind = Kind::getrs,
                 .family = Family::lu,
                 .arguments = {trans, n, nrhs, a, lda, ipiv, b, ldb, info},
                 .a = &shapes::rectangle<Intent::read>,
                 .factors_given = true,
                 .flops = [](const Sizes& of) { return 2 * of.n * of.n * of.k; },
                 .relative_size = 1}),
          factor_and_solve({.kind = Kind::gesv,
                            .family = Family::lu,
                            .arguments = {n, nrhs, a, lda, ipiv, b, ldb, info},
                            .a = &shapes::rectangle<Intent::update>,
                            .flops = [](const Sizes& of) { return 2 * of.cube() / 3 + 2 * of.n * of.n * of.k; }}),
          invert({.kind = Kind::getri,
                  .family = Family::lu,
                  .arguments = {n, a, lda, ipiv, work, lwork, info},
                  .work_space = &work_space::columns,
                  .a = &shapes::rectangle<Intent::update>,
                  .factors_given = true,
                  .flops = [](const Sizes& of) { return 4 * of.cube() / 3; }}),
          {.kind = Kind::laswp,
           .family = Family::row_exchange,
           .arguments = {n, a, lda, il, iu, ipiv, incx},
           .supported = [](const Problem& problem) { return problem.m > 0; },
           .a = &shapes::rectangle<Intent::update>,
           .factors_given = true,
           .check = &check::row_exchange},
          {.kind = Kind::lacpy,
           .family = Family::copy,
           .arguments = {uplo, m, n, a, lda, b, ldb},
           .any_uplo = true,
           .supported =
               [](const Problem& problem) {
                 return problem.m == problem.n || problem.part_of_matrix() == operation::Part::full;
               },
           .a = &shapes::copied<Intent::read>,
           .b = &shapes::copied<Intent::write>,
           .keeps_input = true,
           .check = &check::copy},
          invert({.kind = Kind::trtri,
                  .family = Family::triangle,
                  .arguments = {uplo, diag, n, a, lda, info},
                  .a = &shapes::triangle<Intent::update>,
                  .flops = [](const Sizes& of) { return of.cube() / 3; },
                  .relative_size = 0.6}),
          solve({.kind = Kind::trtrs,
                 .family = Family::triangle,
                 .arguments = {uplo, trans, diag, n, nrhs, a, lda, b, ldb, info},
                 .a = &shapes::triangle<Intent::read>,
                 .flops = [](const Sizes& of) { return of.n * of.n * of.k; },
                 .relative_size = 1}),
          factor({.kind = Kind::sytrf,
                  .family = Family::indefinite,
                  .arguments = {uplo, n, a, lda, ipiv, work, lwork, info},
                  .a = &shapes::triangle<Intent::update>,
                  .flops = [](const Sizes& of) { return of.cube() / 3; },
                  .relative_size = 0.3}),
          solve({.kind = Kind::sytrs,
                 .family = Family::indefinite,
                 .arguments = {uplo, n, nrhs, a, lda, ipiv, b, ldb, info},
                 .a = &shapes::triangle<Intent::read>,
                 .factors_given = true,
                 .flops = [](const Sizes& of) { return 2 * of.n * of.n * of.k; },
                 .relative_size = 0.6}),
          factor_and_solve({.kind = Kind::sysv,
                            .family = Family::indefinite,
                            .arguments = {uplo, n, nrhs, a, lda, ipiv, b, ldb, work, lwork, info},
                            .a = &shapes::triangle<Intent::update>,
                            .flops = [](const Sizes& of) { return of.cube() / 3 + 2 * of.n * of.n * of.k; },
                            .relative_size = 0.3}),
      });
}();

}  // namespace blastoff::lapack::rows
