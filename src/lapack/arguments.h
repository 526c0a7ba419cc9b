// The arguments of LAPACK routines. The row of a kind lists its arguments.
//
// Every argument of a Fortran routine is an address. The length of each character argument follows behind the
// arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

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
  rcond,
  // matrices
  a,      ///< also ap
  b,      ///< also bp, and c of ormqr
  z,      ///< also u of a singular value decomposition, vl of geev
  right,  ///< also vt, vr
  // vectors and scalars of the result; ipiv and tau may also be input
  ipiv,
  tau,
  found,  ///< the number m of eigenvalues found
  w,      ///< also s of a singular value decomposition or of least squares, wr of a real geev
  wi,
  isuppz,
  ifail,
  rank,
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
  return argument >= Argument::vl && argument <= Argument::rcond;
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

/// Whether a routine whose kind has the argument has it, too. Complex routines have further real work space, and return
/// complex eigenvalues in one vector.
constexpr bool is_passed(Argument argument, bool complex) {
  if (argument == Argument::rwork || argument == Argument::lrwork) return complex;
  return argument != Argument::wi || !complex;
}

/// The arguments of one routine, in the order of its parameters.
class ArgumentList {
 public:
  static constexpr std::size_t max_size = 24;
  static constexpr std::uint8_t absent = 0xff;

  constexpr ArgumentList() { positions_.fill(absent); }
  constexpr ArgumentList(std::initializer_list<Argument> arguments) : ArgumentList() {
    for (const Argument argument : arguments) add(argument);
  }

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
  std::array<Argument, max_size> arguments_{};
  std::array<std::uint8_t, argument_count> positions_{};
  std::uint8_t count_ = 0;
  std::uint8_t letters_ = 0;
};

}  // namespace blastoff::lapack
