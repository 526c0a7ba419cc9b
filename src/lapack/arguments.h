// The argument lists of the LAPACK routines. Hooks, parsing and the call of the original are all made from them.
//
// Every argument of a Fortran routine is an address. The length of each character argument follows behind the
// arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lapack/routine.h"

namespace blastoff::lapack {

enum class Argument : std::uint8_t {
  // letters
  uplo,
  trans,
  diag,
  side,
  job,        ///< jobz, jobu, jobvl
  job_right,  ///< jobvt, jobvr
  range,
  // integers
  itype,
  m,
  n,
  k,
  nrhs,
  il,  ///< also k1 of laswp
  iu,  ///< also k2 of laswp
  incx,
  lda,
  ldb,       ///< also ldc
  ldz,       ///< also ldu, ldvl
  ld_right,  ///< also ldvt, ldvr
  lwork,
  lrwork,
  liwork,
  // reals
  vl,
  vu,
  abstol,
  // matrices
  a,      ///< also ap
  b,      ///< also bp, and c of ormqr
  z,      ///< also u of a singular value decomposition, vl of geev
  right,  ///< also vt, vr
  // vectors and scalars of the result; ipiv and tau may also be input
  ipiv,
  tau,
  found,  ///< the number m of eigenvalues found
  w,      ///< also s of a singular value decomposition, wr of a real geev
  wi,
  isuppz,
  ifail,
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
constexpr bool is_real(Argument argument) {
  return argument >= Argument::vl && argument <= Argument::abstol;
}
constexpr bool is_matrix(Argument argument) {
  return argument >= Argument::a && argument <= Argument::right;
}
constexpr bool is_vector(Argument argument) {
  return argument >= Argument::ipiv;
}
constexpr bool is_work(Argument argument) {
  return argument >= Argument::work;
}

/// The arguments of one routine, in the order of its parameters.
class ArgumentList {
 public:
  static constexpr std::size_t longest = 24;
  static constexpr std::uint8_t absent = 0xff;

  constexpr ArgumentList() { positions_.fill(absent); }

  constexpr void add(Argument argument) {
    positions_[static_cast<std::size_t>(argument)] = count_;
    arguments_[count_++] = argument;
    if (is_letter(argument)) ++letters_;
  }
  constexpr std::size_t size() const { return count_; }
  constexpr const Argument* begin() const { return arguments_.data(); }
  constexpr const Argument* end() const { return arguments_.data() + count_; }
  /// Returns the position of an argument, from 0, or `absent`.
  constexpr std::uint8_t position(Argument argument) const { return positions_[static_cast<std::size_t>(argument)]; }
  constexpr bool has(Argument argument) const { return position(argument) != absent; }
  /// Returns how many words a call passes: addresses, then the lengths of the letters.
  constexpr std::size_t words() const { return std::size_t{count_} + letters_; }

 private:
  std::array<Argument, longest> arguments_{};
  std::array<std::uint8_t, argument_count> positions_{};
  std::uint8_t count_ = 0;
  std::uint8_t letters_ = 0;
};

/// The longest list of words: zhegvx has 24 addresses and 3 letters.
inline constexpr std::size_t max_words = 27;

constexpr ArgumentList argument_list(Kind kind, bool complex) {
  using enum Argument;
  ArgumentList list;
  const auto add = [&](auto... arguments) { (list.add(arguments), ...); };
  switch (kind) {
    case Kind::potrf:
    case Kind::potri: add(uplo, n, a, lda, info); break;
    case Kind::potrs:
    case Kind::posv: add(uplo, n, nrhs, a, lda, b, ldb, info); break;
    case Kind::getrf: add(m, n, a, lda, ipiv, info); break;
    case Kind::getrs: add(trans, n, nrhs, a, lda, ipiv, b, ldb, info); break;
    case Kind::gesv: add(n, nrhs, a, lda, ipiv, b, ldb, info); break;
    case Kind::getri: add(n, a, lda, ipiv, work, lwork, info); break;
    case Kind::laswp: add(n, a, lda, il, iu, ipiv, incx); break;
    case Kind::trtri: add(uplo, diag, n, a, lda, info); break;
    case Kind::trtrs: add(uplo, trans, diag, n, nrhs, a, lda, b, ldb, info); break;
    case Kind::geqrf: add(m, n, a, lda, tau, work, lwork, info); break;
    case Kind::orgqr: add(m, n, k, a, lda, tau, work, lwork, info); break;
    case Kind::ormqr: add(side, trans, m, n, k, a, lda, tau, b, ldb, work, lwork, info); break;
    case Kind::gels: add(trans, m, n, nrhs, a, lda, b, ldb, work, lwork, info); break;
    case Kind::syev:
      add(job, uplo, n, a, lda, w, work, lwork);
      if (complex) add(rwork);
      add(info);
      break;
    case Kind::syevd:
      add(job, uplo, n, a, lda, w, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, info);
      break;
    case Kind::syevr:
      add(job, range, uplo, n, a, lda, vl, vu, il, iu, abstol, found, w, z, ldz, isuppz, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, info);
      break;
    case Kind::syevx:
      add(job, range, uplo, n, a, lda, vl, vu, il, iu, abstol, found, w, z, ldz, work, lwork);
      if (complex) add(rwork);
      add(iwork, ifail, info);
      break;
    case Kind::sygv:
      add(itype, job, uplo, n, a, lda, b, ldb, w, work, lwork);
      if (complex) add(rwork);
      add(info);
      break;
    case Kind::sygvd:
      add(itype, job, uplo, n, a, lda, b, ldb, w, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, info);
      break;
    case Kind::sygvx:
      add(itype, job, range, uplo, n, a, lda, b, ldb, vl, vu, il, iu, abstol, found, w, z, ldz, work, lwork);
      if (complex) add(rwork);
      add(iwork, ifail, info);
      break;
    case Kind::spev:
      add(job, uplo, n, a, w, z, ldz, work);
      if (complex) add(rwork);
      add(info);
      break;
    case Kind::spevd:
      add(job, uplo, n, a, w, z, ldz, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, info);
      break;
    case Kind::spevx:
      add(job, range, uplo, n, a, vl, vu, il, iu, abstol, found, w, z, ldz, work);
      if (complex) add(rwork);
      add(iwork, ifail, info);
      break;
    case Kind::spgv:
      add(itype, job, uplo, n, a, b, w, z, ldz, work);
      if (complex) add(rwork);
      add(info);
      break;
    case Kind::spgvd:
      add(itype, job, uplo, n, a, b, w, z, ldz, work, lwork);
      if (complex) add(rwork, lrwork);
      add(iwork, liwork, info);
      break;
    case Kind::spgvx:
      add(itype, job, range, uplo, n, a, b, vl, vu, il, iu, abstol, found, w, z, ldz, work);
      if (complex) add(rwork);
      add(iwork, ifail, info);
      break;
    case Kind::gesdd:
      add(job, m, n, a, lda, w, z, ldz, right, ld_right, work, lwork);
      if (complex) add(rwork);
      add(iwork, info);
      break;
    case Kind::gesvd:
      add(job, job_right, m, n, a, lda, w, z, ldz, right, ld_right, work, lwork);
      if (complex) add(rwork);
      add(info);
      break;
    case Kind::geev:
      add(job, job_right, n, a, lda, w);
      if (!complex) add(wi);
      add(z, ldz, right, ld_right, work, lwork);
      if (complex) add(rwork);
      add(info);
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

constexpr const ArgumentList& argument_list(Routine routine) {
  return argument_lists[static_cast<std::size_t>(routine)];
}

}  // namespace blastoff::lapack
