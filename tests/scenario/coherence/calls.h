// Makes a blas::Call as programs do: by the Fortran or the CBLAS name.
#pragma once

#include "blas/call.h"
#include "random.h"

namespace coherence {

/// False for names that the reference libblas.so.3 lacks (gemmt, gemm3m).
bool callable(blastoff::blas::Routine routine);

/// Makes the call by the Fortran name, or by the CBLAS name in column-major or row-major order; `random` chooses.
void issue(const blastoff::blas::Call& call, Random& random);

}  // namespace coherence
