// One check for each family of routines. See lapack/verification.h.
#pragma once

#include <memory>

#include "operation/operation.h"
#include "operation/verification.h"

namespace blastoff::lapack::check {

/// potrf, getrf, sytrf, geqrf
std::unique_ptr<operation::Verification> factorization(const operation::Operation& operation);
/// posv, potrs, gesv, getrs, sysv, sytrs, trtrs
std::unique_ptr<operation::Verification> solution(const operation::Operation& operation);
/// potri, getri, trtri
std::unique_ptr<operation::Verification> inverse(const operation::Operation& operation);
/// laswp
std::unique_ptr<operation::Verification> row_exchange(const operation::Operation& operation);
/// lacpy
std::unique_ptr<operation::Verification> copy(const operation::Operation& operation);
/// lange, lansy
std::unique_ptr<operation::Verification> norm(const operation::Operation& operation);
/// orgqr, ormqr
std::unique_ptr<operation::Verification> orthogonal_factor(const operation::Operation& operation);
/// gels
std::unique_ptr<operation::Verification> least_squares(const operation::Operation& operation);
/// gelsd, gelss
std::unique_ptr<operation::Verification> least_norm(const operation::Operation& operation);
/// syev, syevd, syevr, syevx, spev, spevd, spevx
std::unique_ptr<operation::Verification> eigenproblem(const operation::Operation& operation);
/// sygv, sygvd, sygvx, spgv, spgvd, spgvx
std::unique_ptr<operation::Verification> generalized_eigenproblem(const operation::Operation& operation);
/// sygst
std::unique_ptr<operation::Verification> reduction(const operation::Operation& operation);
/// geev
std::unique_ptr<operation::Verification> general_eigenproblem(const operation::Operation& operation);
/// gesdd, gesvd
std::unique_ptr<operation::Verification> singular_values(const operation::Operation& operation);

}  // namespace blastoff::lapack::check
