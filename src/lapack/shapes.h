// The shapes of the matrices of LAPACK routines, for the rows of kinds.
#pragma once

#include <algorithm>

#include "lapack/problem.h"

namespace blastoff::lapack::shapes {

using operation::Intent;
using operation::Part;

inline Part part_of_triangle(const Problem& problem) {
  return problem.upper() ? Part::upper : Part::lower;
}

template <Intent intent>
MatrixShape rectangle(const Problem& problem) {
  return {problem.m, problem.n, Part::full, intent};
}
/// The triangle that `uplo` names of a square matrix.
template <Intent intent>
MatrixShape triangle(const Problem& problem) {
  return {problem.n, problem.n, part_of_triangle(problem), intent};
}
template <Intent intent>
MatrixShape copied(const Problem& problem) {
  return {problem.m, problem.n, problem.part_of_matrix(), intent};
}
template <Intent intent>
MatrixShape packed_triangle(const Problem& problem) {
  return {problem.n * (problem.n + 1) / 2, 1, Part::full, intent};
}
/// A symmetric matrix; the eigenvectors, if they are wanted, replace the whole matrix.
inline MatrixShape becomes_eigenvectors(const Problem& problem) {
  return problem.wants_vectors() ? rectangle<Intent::update>(problem) : triangle<Intent::read>(problem);
}
/// The reflectors that a routine applies.
inline MatrixShape reflectors(const Problem& problem) {
  return {problem.side == 'l' ? problem.m : problem.n, problem.k, Part::full, Intent::read};
}

/// The right-hand sides, which the solutions replace.
inline MatrixShape right_sides(const Problem& problem) {
  return {problem.n, problem.k, Part::full, Intent::update};
}
/// The right-hand sides of a matrix that need not be square: they have as many rows as its longer side.
inline MatrixShape long_right_sides(const Problem& problem) {
  return {std::max(problem.m, problem.n), problem.k, Part::full, Intent::update};
}

inline MatrixShape eigenvectors(const Problem& problem) {
  if (!problem.wants_vectors()) return {};
  const std::int64_t columns = problem.counts_afterwards() ? 0 : problem.eigenvalues();
  return {problem.n, columns, Part::full, Intent::write};
}
inline MatrixShape right_eigenvectors(const Problem& problem) {
  const std::int64_t order = problem.job_right == 'v' ? problem.n : 0;
  return {order, order, Part::full, Intent::write};
}
inline MatrixShape left_singular_vectors(const Problem& problem) {
  const std::int64_t columns = problem.job == 'a' ? problem.m : problem.job == 's' ? problem.min_side() : 0;
  return {columns == 0 ? 0 : problem.m, columns, Part::full, Intent::write};
}
inline MatrixShape right_singular_vectors(const Problem& problem) {
  const std::int64_t rows = problem.job_right == 'a' ? problem.n : problem.job_right == 's' ? problem.min_side() : 0;
  return {rows, rows == 0 ? 0 : problem.n, Part::full, Intent::write};
}

inline MatrixShape unused(const Problem&) {
  return {};
}

}  // namespace blastoff::lapack::shapes
