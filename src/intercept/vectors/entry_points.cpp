#include "intercept/vectors/entry_points.h"

#include <array>

#include "blas/vector_call.h"
#include "intercept/blas/entry_points.h"

namespace blastoff::intercept {

constinit const EntryPoint vector_entry_points[] = {
#define BLASTOFF_ENTRY(prefix, name, suffix, style, integers, decoration, kind, scalar)                            \
  BLASTOFF_ENTRY_POINT((Routine{&vector_routines, static_cast<std::uint16_t>(blas::VectorRoutine::name)}), prefix, \
                       name, suffix, style, integers, decoration)
#define BLASTOFF_ENTRIES(name, kind, scalar, factor) BLASTOFF_VECTOR_SPELLINGS(BLASTOFF_ENTRY, name, kind, scalar)
    BLASTOFF_VECTOR_ROUTINES(BLASTOFF_ENTRIES)
#undef BLASTOFF_ENTRIES
#undef BLASTOFF_ENTRY
};

namespace {

using blas::VectorKind;

constexpr Spelling spellings[] = {BLASTOFF_VECTOR_SPELLINGS(BLASTOFF_SPELLING_OF, dswap, swap, d)};

constinit std::array<std::atomic<std::uint64_t>, std::size(vector_entry_points)> absent{};

using enum Role;
constexpr Role fortran_two[] = {integer, array, integer, array, integer};
constexpr Role fortran_scal[] = {integer, real, array, integer};
constexpr Role fortran_axpy[] = {integer, real, array, integer, array, integer};
constexpr Role cblas_two[] = {number, array, number, array, number};
constexpr Role cblas_scal[] = {number, real, array, number};
constexpr Role cblas_scal_by_value[] = {number, value, array, number};
constexpr Role cblas_axpy[] = {number, real, array, number, array, number};
constexpr Role cblas_axpy_by_value[] = {number, value, array, number, array, number};

std::span<const Role> roles(abi::Style style, const blas::VectorRoutineRow& row) {
  const bool fortran = style == abi::Style::fortran;
  const bool by_value = !blas::is_complex(row.factor);
  switch (row.kind) {
    case VectorKind::swap:
    case VectorKind::copy: return fortran ? std::span<const Role>(fortran_two) : cblas_two;
    case VectorKind::scal:
      return fortran ? std::span<const Role>(fortran_scal) : by_value ? cblas_scal_by_value : cblas_scal;
    case VectorKind::axpy:
      return fortran ? std::span<const Role>(fortran_axpy) : by_value ? cblas_axpy_by_value : cblas_axpy;
  }
  return {};
}

/// Vectors take few arguments, so that a program's own function may have the same ones. Beside xerbla_, it is BLAS's.
bool accompanies(std::uint16_t routine, std::uint16_t other) {
  return routine == other;
}

Signature signature(abi::Style style, std::uint16_t routine) {
  const blas::VectorRoutineRow& row = blas::vector_routine_table[routine];
  return {roles(style, row), row.scalar};
}

}  // namespace

constinit const RoutineTable vector_routines = {
    .front_end = &blas::vectors,
    .names = vector_names,
    .spellings = spellings,
    .entry_points = vector_entry_points,
    .absent = absent,
    .c_prefix = "cblas_",
    .inner_suffixes = blas_inner_suffixes,
    .signature = &signature,
    .accompanies = &accompanies,
    .arguments_suffice = false,
    .system_libraries = blas_libraries,
    .hook = &vector_hook,
};

}  // namespace blastoff::intercept
