// The BLAS routines: one enumerator for each row of the routine table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "blas/routines.def"
#include "blas/types.h"

namespace blastoff::blas {

/// An operation of BLAS, for any element type. gemmt updates one triangle of C by a general product. The batches make
/// many products or solves; those of a kind differ in how their arguments tell where the matrices lie.
enum class Kind : std::uint8_t {
  gemm,
  gemmt,
  symm,
  hemm,
  syrk,
  herk,
  syr2k,
  her2k,
  trmm,
  trsm,
  gemv,
  symv,
  hemv,
  gemm_batch,
  gemm_batch_strided,
  trsm_batch,
  trsm_batch_strided,
};

/// Whether the kind has a routine for that scalar type: Hermitian kinds are complex only, and symv is real only.
constexpr bool exists(Kind kind, Scalar scalar) {
  switch (kind) {
    case Kind::hemm:
    case Kind::herk:
    case Kind::her2k:
    case Kind::hemv: return is_complex(scalar);
    case Kind::symv: return !is_complex(scalar);
    default: return true;
  }
}

/// Level 2: a product of a matrix and a vector.
constexpr bool is_matrix_vector(Kind kind) {
  return kind == Kind::gemv || kind == Kind::symv || kind == Kind::hemv;
}

/// Many products in one call; many solves in one call; either of them.
constexpr bool is_product_batch(Kind kind) {
  return kind == Kind::gemm_batch || kind == Kind::gemm_batch_strided;
}
constexpr bool is_solve_batch(Kind kind) {
  return kind == Kind::trsm_batch || kind == Kind::trsm_batch_strided;
}
constexpr bool is_batch(Kind kind) {
  return is_product_batch(kind) || is_solve_batch(kind);
}

/// Batches in groups: an array stands for each argument.
constexpr bool is_grouped(Kind kind) {
  return kind == Kind::gemm_batch || kind == Kind::trsm_batch;
}

enum class Routine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, kind, scalar) name,
  BLASTOFF_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

/// One row of the table.
struct RoutineRow {
  const char* name;  ///< BLAS name without decoration, for example "dgemm"
  Kind kind;
  Scalar scalar;
};

inline constexpr RoutineRow routine_table[] = {
#define BLASTOFF_ROW(name, kind, scalar) {#name, Kind::kind, Scalar::scalar},
    BLASTOFF_ROUTINES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};
inline constexpr std::size_t routine_count = std::size(routine_table);

/// All rows, indexed by Routine.
constexpr std::span<const RoutineRow> routines() {
  return routine_table;
}

constexpr const RoutineRow& row(Routine routine) {
  return routine_table[static_cast<std::size_t>(routine)];
}

/// Returns the routine of that kind and scalar type, which must exist(). If there are several (gemm and gemm3m),
/// returns the plain one.
constexpr Routine routine_of(Kind kind, Scalar scalar) {
  std::size_t index = 0;
  while (routine_table[index].kind != kind || routine_table[index].scalar != scalar) ++index;
  return static_cast<Routine>(index);
}

}  // namespace blastoff::blas
