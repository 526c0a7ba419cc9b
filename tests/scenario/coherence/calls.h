// Makes a blas::Call the way programs do: by the Fortran or the CBLAS name.
#pragma once

#include "blas/call.h"
#include "random.h"

namespace coherence {

/// False for names that the reference libblas.so.3 lacks (gemmt, gemm3m).
bool callable(blastoff::blas::Routine routine);

/// Calls by the Fortran name, or the CBLAS one in column-major or row-major order, chosen by `random`.
void issue(const blastoff::blas::Call& call, Random& random);

}  // namespace coherence
