// Eigenproblems of symmetric matrices, and of pairs of them.
#pragma once

#include <array>

#include "lapack/check/families.h"
#include "lapack/kind.h"

namespace blastoff::lapack::rows {

inline constexpr auto symmetric_eigenproblems = [] {
  using enum Argument;
  using operation::Intent;
  const auto matrix = [](KindRow row) {
    row.family = Family::eigenproblem;
    row.flops = &counts::eigenproblem;
    row.scales = true;
    row.check = &check::eigenproblem;
    return row;
  };
  const auto pair = [](KindRow row) {
    row.family = Family::generalized_eigenproblem;
    row.flops = &counts::generalized_eigenproblem;
    row.relative_size = 1.6;
    row.scales = true;
    row.check = &check::generalized_eigenproblem;
    return row;
  };
  const auto packed = [](KindRow row) {
    row.a = &shapes::packed_triangle<Intent::read>;
    if (row.family == Family::generalized_eigenproblem) row.b = &shapes::packed_triangle<Intent::update>;
    row.z = &shapes::eigenvectors;
    row.packed = true;
    return row;
  };
  return std::to_array<KindRow>({
      matrix({.kind = Kind::syev,
              .arguments = {job, uplo, n, a, lda, w, work, lwork, rwork, info},
              .work_space = &work_space::syev,
              .a = &shapes::becomes_eigenvectors}),
      matrix({.kind = Kind::syevd,
              .arguments = {job, uplo, n, a, lda, w, work, lwork, rwork, lrwork, iwork, liwork, info},
              .work_space = &work_space::syevd,
              .a = &shapes::becomes_eigenvectors}),
      matrix({.kind = Kind::syevr,
              .arguments = {job, range, uplo, n,      a,    lda,   vl,    vu,     il,    iu,     abstol, found,
                            w,   z,     ldz,  isuppz, work, lwork, rwork, lrwork, iwork, liwork, info},
              .work_space = &work_space::syevr,
              .a = &shapes::triangle<Intent::read>,
              .z = &shapes::eigenvectors,
              .tolerance = 100}),
      matrix({.kind = Kind::syevx,
              .arguments = {job,   range, uplo, n,   a,    lda,   vl,    vu,    il,    iu,  abstol,
                            found, w,     z,    ldz, work, lwork, rwork, iwork, ifail, info},
              .work_space = &work_space::syevx,
              .a = &shapes::triangle<Intent::read>,
              .z = &shapes::eigenvectors}),
      pair({.kind = Kind::sygv,
            .arguments = {itype, job, uplo, n, a, lda, b, ldb, w, work, lwork, rwork, info},
            .work_space = &work_space::syev,
            .a = &shapes::becomes_eigenvectors,
            .b = &shapes::triangle<Intent::update>}),
      pair({.kind = Kind::sygvd,
            .arguments = {itype, job, uplo, n, a, lda, b, ldb, w, work, lwork, rwork, lrwork, iwork, liwork, info},
            .work_space = &work_space::syevd,
            .a = &shapes::becomes_eigenvectors,
            .b = &shapes::triangle<Intent::update>}),
      pair({.kind = Kind::sygvx,
            .arguments = {itype, job,    range, uplo, n, a,   lda,  b,     ldb,   vl,    vu,    il,
                          iu,    abstol, found, w,    z, ldz, work, lwork, rwork, iwork, ifail, info},
            .work_space = &work_space::sygvx,
            .a = &shapes::triangle<Intent::read>,
            .b = &shapes::triangle<Intent::update>,
            .z = &shapes::eigenvectors}),
      {.kind = Kind::sygst,
       .family = Family::reduction,
       .arguments = {itype, uplo, n, a, lda, b, ldb, info},
       .a = &shapes::triangle<Intent::update>,
       .b = &shapes::triangle<Intent::read>,
       .flops = [](const Sizes& of) { return of.cube(); },
       .relative_size = 1,
       .check = &check::reduction},
      packed(matrix({.kind = Kind::spev,
                     .arguments = {job, uplo, n, a, w, z, ldz, work, rwork, info},
                     .work_space = &work_space::spev})),
      packed(matrix({.kind = Kind::spevd,
                     .arguments = {job, uplo, n, a, w, z, ldz, work, lwork, rwork, lrwork, iwork, liwork, info},
                     .work_space = &work_space::spevd})),
      packed(matrix({.kind = Kind::spevx,
                     .arguments = {job, range, uplo, n, a, vl, vu, il, iu, abstol, found, w, z, ldz, work, rwork, iwork,
                                   ifail, info},
                     .work_space = &work_space::sygvx})),
      packed(pair({.kind = Kind::spgv,
                   .arguments = {itype, job, uplo, n, a, b, w, z, ldz, work, rwork, info},
                   .work_space = &work_space::spev})),
      packed(pair({.kind = Kind::spgvd,
                   .arguments = {itype, job, uplo, n, a, b, w, z, ldz, work, lwork, rwork, lrwork, iwork, liwork, info},
                   .work_space = &work_space::spgvd})),
      packed(pair({.kind = Kind::spgvx,
                   .arguments = {itype,  job,   range, uplo, n,   a,    b,     vl,    vu,    il,  iu,
                                 abstol, found, w,     z,    ldz, work, rwork, iwork, ifail, info},
                   .work_space = &work_space::sygvx})),
  });
}();

}  // namespace blastoff::lapack::rows
