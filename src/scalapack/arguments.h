// The argument lists of the distributed routines, and the shapes of their matrices. The checks, the copies and the call
// of the local routine are all made from them.
//
// All arguments are addresses. A matrix has four: its elements, the row and the column of the sub-matrix, and the
// descriptor. The length of each letter follows behind the arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "operation/operand.h"
#include "scalapack/routine.h"

namespace blastoff::scalapack {

enum class Argument : std::uint8_t {
  // letters
  side,
  uplo,
  trans,
  trans_b,
  diag,
  job,        ///< also jobu
  job_right,  ///< jobvt
  range,
  // integers
  itype,
  m,
  n,
  k,
  nrhs,
  il,
  iu,
  lwork,
  lrwork,
  liwork,
  // numbers
  alpha,
  beta,
  vl,
  vu,
  abstol,
  orfac,
  // matrices
  a,
  b,
  c,
  z,
  u,
  vt,
  // vectors and results
  ipiv,
  tau,
  w,              ///< also singular values
  found,          ///< the number m of eigenvalues found
  vectors_found,  ///< nz
  ifail,
  clusters,
  gaps,
  scale,
  info,
  // work space, whose first element returns the best size
  work,
  rwork,
  iwork,
};
inline constexpr std::size_t argument_count = static_cast<std::size_t>(Argument::iwork) + 1;

constexpr bool is_letter(Argument argument) {
  return argument <= Argument::range;
}
constexpr bool is_integer(Argument argument) {
  return argument >= Argument::itype && argument <= Argument::liwork;
}
constexpr bool is_number(Argument argument) {
  return argument >= Argument::alpha && argument <= Argument::orfac;
}
constexpr bool is_matrix(Argument argument) {
  return argument >= Argument::a && argument <= Argument::vt;
}

/// The arguments of one routine, in the order of its parameters.
class ArgumentList {
 public:
  static constexpr std::size_t max_size = 27;
  static constexpr std::uint8_t absent = 0xff;

  constexpr ArgumentList() { positions_.fill(absent); }

  constexpr void add(Argument argument) {
    positions_[static_cast<std::size_t>(argument)] = words_;
    arguments_[count_++] = argument;
    words_ = static_cast<std::uint8_t>(words_ + (is_matrix(argument) ? 4 : 1));
    if (is_letter(argument)) ++letters_;
  }
  constexpr const Argument* begin() const { return arguments_.data(); }
  constexpr const Argument* end() const { return arguments_.data() + count_; }
  /// Returns the position of the argument's first word, from 0, or `absent`.
  constexpr std::uint8_t position(Argument argument) const { return positions_[static_cast<std::size_t>(argument)]; }
  constexpr bool has(Argument argument) const { return position(argument) != absent; }
  constexpr std::size_t letters() const { return letters_; }
  /// Returns how many words a call passes: addresses, then the lengths of the letters.
  constexpr std::size_t words() const { return std::size_t{words_} + letters_; }

 private:
  std::array<Argument, max_size> arguments_{};
  std::array<std::uint8_t, argument_count> positions_{};
  std::uint8_t count_ = 0;
  std::uint8_t words_ = 0;
  std::uint8_t letters_ = 0;
};

constexpr ArgumentList argument_list(Kind kind, bool complex) {
  using enum Argument;
  ArgumentList list;
  const auto add = [&](auto... arguments) { (list.add(arguments), ...); };
  switch (kind) {
    case Kind::gemm: add(trans, trans_b, m, n, k, alpha, a, b, beta, c); break;
    case Kind::symm: add(side, uplo, m, n, alpha, a, b, beta, c); break;
    case Kind::syrk: add(uplo, trans, n, k, alpha, a, beta, c); break;
    case Kind::syr2k: add(uplo, trans, n, k, alpha, a, b, beta, c); break;
    case Kind::trmm: add(side, uplo, trans, diag, m, n, alpha, a, b); break;
    case Kind::potrf: add(uplo, n, a, info); break;
    case Kind::potrs:
    case Kind::posv: add(uplo, n, nrhs, a, b, info); break;
    case Kind::getrf: add(m, n, a, ipiv, info); break;
    case Kind::getrs: add(trans, n, nrhs, a, ipiv, b, info); break;
    case Kind::gesv: add(n, nrhs, a, ipiv, b, info); break;
    case Kind::trtri: add(uplo, diag, n, a, info); break;
    case Kind::geqrf: add(m, n, a, tau, work, lwork, info); break;
    case Kind::orgqr: add(m, n, k, a, tau, work, lwork, info); break;
    case Kind::ormqr: add(side, trans, m, n, k, a, tau, c, work, lwork, info); break;
    case Kind::gels: add(trans, m, n, nrhs, a, b, work, lwork, info); break;
    case Kind::gesvd:
      add(job, job_right, m, n, a, w, u, vt, work, lwork);
      if (complex) add(rwork);
      add(info);
      break;
    case Kind::sygst: add(itype, uplo, n, a, b, scale, info); break;
    case Kind::syngst: add(itype, uplo, n, a, b, scale, work, lwork, info); break;
    case Kind::syev:
    case Kind::syevd:
      add(job, uplo, n, a, w, z, work, lwork);
      if (complex) add(rwork, lrwork);
      if (kind == Kind::syevd) add(iwork, liwork);
      add(info);
      break;
    case Kind::sygvx:
      add(itype, job, range, uplo, n, a, b, vl, vu, il, iu, abstol, found, vectors_found, w, orfac, z, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, ifail, clusters, gaps, info);
      break;
    case Kind::syevx:
      add(job, range, uplo, n, a, vl, vu, il, iu, abstol, found, vectors_found, w, orfac, z, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, ifail, clusters, gaps, info);
      break;
    case Kind::syevr:
      add(job, range, uplo, n, a, vl, vu, il, iu, found, vectors_found, w, z, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, info);
      break;
  }
  return list;
}

/// Indexed by Routine.
inline constexpr auto argument_lists = [] {
  std::array<ArgumentList, routine_count> lists;
  for (std::size_t i = 0; i < routine_count; ++i)
    lists[i] = argument_list(routine_table[i].kind, blas::is_complex(routine_table[i].scalar));
  return lists;
}();
static_assert([] {
  for (std::size_t i = 0; i < routine_count; ++i)
    if (argument_lists[i].words() != routine_table[i].words) return false;
  return true;
}());

constexpr const ArgumentList& argument_list(Routine routine) {
  return argument_lists[static_cast<std::size_t>(routine)];
}

/// The size of a matrix in one direction.
enum class Extent : std::uint8_t {
  m,
  n,
  k,
  nrhs,
  order,     ///< of a matrix that multiplies from the side that a letter names: m or n
  longest,   ///< of m and n
  shortest,  ///< of m and n
};

/// The sub-matrix that a routine uses.
struct MatrixRule {
  Argument matrix;
  Extent rows;
  Extent columns;
  operation::Intent intent;
  bool triangle = false;                 ///< only the triangle that `uplo` names
  Argument transposed = Argument::info;  ///< a letter; if it is not N, rows and columns are exchanged
};

namespace detail {

using enum Argument;
using enum operation::Intent;

inline constexpr MatrixRule of_gemm[] = {{a, Extent::m, Extent::k, read, false, trans},
                                         {b, Extent::k, Extent::n, read, false, trans_b},
                                         {c, Extent::m, Extent::n, update}};
inline constexpr MatrixRule of_symm[] = {
    {a, Extent::order, Extent::order, read, true}, {b, Extent::m, Extent::n, read}, {c, Extent::m, Extent::n, update}};
inline constexpr MatrixRule of_syrk[] = {{a, Extent::n, Extent::k, read, false, trans},
                                         {c, Extent::n, Extent::n, update, true}};
inline constexpr MatrixRule of_syr2k[] = {{a, Extent::n, Extent::k, read, false, trans},
                                          {b, Extent::n, Extent::k, read, false, trans},
                                          {c, Extent::n, Extent::n, update, true}};
inline constexpr MatrixRule of_trmm[] = {{a, Extent::order, Extent::order, read, true},
                                         {b, Extent::m, Extent::n, update}};
inline constexpr MatrixRule of_potrf[] = {{a, Extent::n, Extent::n, update, true}};
inline constexpr MatrixRule of_potrs[] = {{a, Extent::n, Extent::n, read, true}, {b, Extent::n, Extent::nrhs, update}};
inline constexpr MatrixRule of_posv[] = {{a, Extent::n, Extent::n, update, true}, {b, Extent::n, Extent::nrhs, update}};
inline constexpr MatrixRule of_getrf[] = {{a, Extent::m, Extent::n, update}};
inline constexpr MatrixRule of_getrs[] = {{a, Extent::n, Extent::n, read}, {b, Extent::n, Extent::nrhs, update}};
inline constexpr MatrixRule of_gesv[] = {{a, Extent::n, Extent::n, update}, {b, Extent::n, Extent::nrhs, update}};
inline constexpr MatrixRule of_ormqr[] = {{a, Extent::order, Extent::k, read}, {c, Extent::m, Extent::n, update}};
inline constexpr MatrixRule of_gels[] = {{a, Extent::m, Extent::n, update}, {b, Extent::longest, Extent::nrhs, update}};
// ScaLAPACK leaves A undefined.
inline constexpr MatrixRule of_gesvd[] = {
    {a, Extent::m, Extent::n, read}, {u, Extent::m, Extent::shortest, write}, {vt, Extent::shortest, Extent::n, write}};
inline constexpr MatrixRule of_sygst[] = {{a, Extent::n, Extent::n, update, true},
                                          {b, Extent::n, Extent::n, read, true}};
// LAPACK leaves the vectors in A; ScaLAPACK returns them in Z and leaves A undefined.
inline constexpr MatrixRule of_syevd[] = {{a, Extent::n, Extent::n, read, true}, {z, Extent::n, Extent::n, write}};
inline constexpr MatrixRule of_sygvx[] = {
    {a, Extent::n, Extent::n, read, true}, {b, Extent::n, Extent::n, update, true}, {z, Extent::n, Extent::n, write}};

}  // namespace detail

constexpr std::span<const MatrixRule> matrix_rules(Kind kind) {
  switch (kind) {
    case Kind::gemm: return detail::of_gemm;
    case Kind::symm: return detail::of_symm;
    case Kind::syrk: return detail::of_syrk;
    case Kind::syr2k: return detail::of_syr2k;
    case Kind::trmm: return detail::of_trmm;
    case Kind::potrf:
    case Kind::trtri: return detail::of_potrf;
    case Kind::potrs: return detail::of_potrs;
    case Kind::posv: return detail::of_posv;
    case Kind::getrf:
    case Kind::geqrf:
    case Kind::orgqr: return detail::of_getrf;
    case Kind::ormqr: return detail::of_ormqr;
    case Kind::gels: return detail::of_gels;
    case Kind::gesvd: return detail::of_gesvd;
    case Kind::sygst:
    case Kind::syngst: return detail::of_sygst;
    case Kind::getrs: return detail::of_getrs;
    case Kind::gesv: return detail::of_gesv;
    case Kind::syev:
    case Kind::syevd:
    case Kind::syevx:
    case Kind::syevr: return detail::of_syevd;
    case Kind::sygvx: return detail::of_sygvx;
  }
  return {};
}

}  // namespace blastoff::scalapack
