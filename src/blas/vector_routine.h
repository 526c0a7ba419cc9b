// The routines of level 1 that change vectors: one enumerator for each row of the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "blas/types.h"
#include "blas/vector_routines.def"

namespace blastoff::blas {

enum class VectorKind : std::uint8_t { swap, copy, scal, axpy };

enum class VectorRoutine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, kind, scalar, factor) name,
  BLASTOFF_VECTOR_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

struct VectorRoutineRow {
  const char* name;
  VectorKind kind;
  Scalar scalar;
  Scalar factor;  ///< the type of alpha
};

inline constexpr VectorRoutineRow vector_routine_table[] = {
#define BLASTOFF_ROW(name, kind, scalar, factor) {#name, VectorKind::kind, Scalar::scalar, Scalar::factor},
    BLASTOFF_VECTOR_ROUTINES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};
inline constexpr std::size_t vector_routine_count = std::size(vector_routine_table);

constexpr const VectorRoutineRow& row(VectorRoutine routine) {
  return vector_routine_table[static_cast<std::size_t>(routine)];
}
constexpr bool has_factor(VectorKind kind) {
  return kind == VectorKind::scal || kind == VectorKind::axpy;
}
constexpr std::size_t vector_count(VectorKind kind) {
  return kind == VectorKind::scal ? 1 : 2;
}

}  // namespace blastoff::blas
