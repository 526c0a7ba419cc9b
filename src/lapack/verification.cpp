#include "lapack/verification.h"

#include "lapack/check/families.h"
#include "lapack/problem.h"

namespace blastoff::lapack {

std::unique_ptr<operation::Verification> verify(const operation::Operation& operation) {
  switch (operation.payload<Problem>().kind()) {
    case Kind::potrf:
    case Kind::getrf:
    case Kind::geqrf: return check::factorization(operation);
    case Kind::posv:
    case Kind::potrs:
    case Kind::gesv:
    case Kind::getrs:
    case Kind::trtrs: return check::solution(operation);
    case Kind::potri:
    case Kind::getri:
    case Kind::trtri: return check::inverse(operation);
    case Kind::laswp: return check::row_exchange(operation);
    case Kind::orgqr:
    case Kind::ormqr: return check::orthogonal_factor(operation);
    case Kind::gels: return check::least_squares(operation);
    case Kind::syev:
    case Kind::syevd:
    case Kind::syevr:
    case Kind::syevx:
    case Kind::spev:
    case Kind::spevd:
    case Kind::spevx: return check::eigenproblem(operation);
    case Kind::sygv:
    case Kind::sygvd:
    case Kind::sygvx:
    case Kind::spgv:
    case Kind::spgvd:
    case Kind::spgvx: return check::generalized_eigenproblem(operation);
    case Kind::gesdd:
    case Kind::gesvd: return check::singular_values(operation);
    case Kind::geev: return check::general_eigenproblem(operation);
  }
  return nullptr;
}

}  // namespace blastoff::lapack
