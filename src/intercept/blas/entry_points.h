// The names of BLAS: those of its routines, those that are exported, and the hooks for patched functions.
#pragma once

#include "blas/routine.h"
#include "intercept/routine_table.h"
#include "intercept/spellings.def"

namespace blastoff::intercept {

extern const RoutineTable blas_routines;

/// Indexed by the number of the routine.
inline constexpr auto blas_names = names_of(blas::routine_table);

/// Hooks replace patched functions: one for each routine and calling style.
Hook blas_hook(abi::Style style, std::uint16_t routine);

/// Converts a BLAS routine to a Routine, which numbers the routines of all front ends.
constexpr Routine blas_routine(blas::Routine routine) {
  return {&blas_routines, static_cast<std::uint16_t>(routine)};
}

/// Converts a Routine of blas_routines back to a BLAS routine.
constexpr blas::Routine blas_routine(const Routine& routine) {
  return static_cast<blas::Routine>(routine.number);
}

/// Indices into blas_entry_points: all spellings of the first routine, of the second, ...
enum class BlasEntryIndex : int {
#define BLASTOFF_INDICES(name, kind, scalar) BLASTOFF_SPELLINGS(BLASTOFF_INDEX, name, kind, scalar)
  BLASTOFF_EXPORTED_ROUTINES(BLASTOFF_INDICES)
#undef BLASTOFF_INDICES
      count,
};

/// In the order of BlasEntryIndex.
extern const EntryPoint blas_entry_points[static_cast<int>(BlasEntryIndex::count)];

/// The libraries in which systems keep BLAS, and the suffixes of inner functions of BLIS (and AOCL), and of NVPL.
inline constexpr const char* blas_libraries[] = {"libblas.so.3", "libcblas.so.3", "libopenblas.so.0",
                                                 "libflexiblas.so.3"};
inline constexpr std::string_view blas_inner_suffixes[] = {"_blis_impl", "_internal_"};

}  // namespace blastoff::intercept
