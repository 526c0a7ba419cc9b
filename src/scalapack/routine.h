// The routines of ScaLAPACK and of the PBLAS that are intercepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "blas/routine.h"
#include "lapack/routine.h"
#include "operation/front_end.h"
#include "scalapack/routines.def"

namespace blastoff::scalapack {

/// Routines with the same arguments, for any element type.
enum class Kind : std::uint8_t {
  gemm,
  symm,
  syrk,
  syr2k,
  trmm,   ///< also trsm
  potrf,  ///< also potri
  potrs,
  posv,
  getrf,
  getrs,
  gesv,
  trtri,
  geqrf,
  orgqr,
  ormqr,
  gels,
  gesvd,
  sygst,
  syngst,  ///< sygst with work space
  syev,
  syevd,
  sygvx,
  syevx,
  syevr,
};

/// Whether the routine belongs to the PBLAS, which take matrices in any layout.
constexpr bool is_pblas(Kind kind) {
  return kind <= Kind::trmm;
}
constexpr bool is_eigensolver(Kind kind) {
  return kind >= Kind::syev;
}

enum class Routine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, kind, scalar, library, local, words) name,
  BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

/// The routine that does the same in one memory.
class LocalRoutine {
 public:
  constexpr explicit LocalRoutine(blas::Routine routine) : number_(static_cast<std::uint16_t>(routine)) {}
  constexpr explicit LocalRoutine(lapack::Routine routine)
      : is_lapack_(true), number_(static_cast<std::uint16_t>(routine)) {}

  constexpr bool is_lapack() const { return is_lapack_; }
  constexpr blas::Routine of_blas() const { return static_cast<blas::Routine>(number_); }
  constexpr lapack::Routine of_lapack() const { return static_cast<lapack::Routine>(number_); }

 private:
  bool is_lapack_ = false;
  std::uint16_t number_;
};

/// One row of the table.
struct RoutineRow {
  const char* name;  ///< without decoration: "pdsyevd"
  Kind kind;
  blas::Scalar scalar;
  LocalRoutine local;
  std::size_t words;  ///< number of words that a call passes
};

inline constexpr RoutineRow routine_table[] = {
#define BLASTOFF_ROW(name, kind, scalar, library, local, words) \
  {#name, Kind::kind, blas::Scalar::scalar, LocalRoutine(library::Routine::local), words},
    BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};
inline constexpr std::size_t routine_count = std::size(routine_table);

constexpr const RoutineRow& row(Routine routine) {
  return routine_table[static_cast<std::size_t>(routine)];
}

/// A front end for names and arguments only: nothing makes a distributed call as an operation.
operation::FrontEnd& scalapack();

}  // namespace blastoff::scalapack
