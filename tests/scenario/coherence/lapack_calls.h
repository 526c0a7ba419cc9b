// LAPACK's routines by their Fortran names, for each element type. Each returns info.
#pragma once

#include "blas/types.h"

namespace coherence {

using blastoff::blas::Scalar;

/// Whether the build has LAPACK. If not, nothing else may be called.
bool has_lapack();

/// A part of a matrix in memory.
struct Block {
  int rows = 0;
  int columns = 0;
  void* address = nullptr;
  int leading_dimension = 1;
};

int potrf(Scalar scalar, char uplo, const Block& a);
int potrs(Scalar scalar, char uplo, const Block& a, const Block& b);
int posv(Scalar scalar, char uplo, const Block& a, const Block& b);
int getrf(Scalar scalar, const Block& a, int* pivots);
int getrs(Scalar scalar, char transpose, const Block& a, const int* pivots, const Block& b);
/// `tau`: room for min(rows, columns) numbers of the element type.
int geqrf(Scalar scalar, const Block& a, void* tau);
/// Computes eigenvalues and eigenvectors by heevd, or syevd for real types. `values`: real numbers of the type's
/// precision.
int heevd(Scalar scalar, char uplo, const Block& a, void* values);

}  // namespace coherence
