// The smallest sizes of work space that LAPACK accepts, for the rows of kinds.
#pragma once

#include <cstdint>

namespace blastoff::lapack {

struct Problem;

/// In elements. A routine may lack some of the three.
struct WorkSizes {
  std::int64_t work = 1;
  std::int64_t rwork = 1;
  std::int64_t iwork = 1;
};

namespace work_space {

WorkSizes none(const Problem& problem);
WorkSizes columns(const Problem& problem);  ///< getri, geqrf, orgqr
WorkSizes norm(const Problem& problem);
WorkSizes ormqr(const Problem& problem);
WorkSizes gels(const Problem& problem);
WorkSizes gelsd(const Problem& problem);
WorkSizes gelss(const Problem& problem);
WorkSizes syev(const Problem& problem);
WorkSizes syevd(const Problem& problem);
WorkSizes syevr(const Problem& problem);
WorkSizes syevx(const Problem& problem);
WorkSizes sygvx(const Problem& problem);
WorkSizes spev(const Problem& problem);
WorkSizes spevd(const Problem& problem);
WorkSizes spgvd(const Problem& problem);
WorkSizes gesdd(const Problem& problem);
WorkSizes gesvd(const Problem& problem);
WorkSizes geev(const Problem& problem);

}  // namespace work_space
}  // namespace blastoff::lapack
