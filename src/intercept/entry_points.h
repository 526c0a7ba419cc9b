// All exported names, one EntryPoint each.
#pragma once

#include <span>

#include "abi/entry_point.h"
#include "intercept/spellings.def"

namespace blastoff::intercept {

/// Indices into entry_points(): all spellings of the first routine, of the second, ...
enum class EntryIndex : int {
#define BLASTOFF_INDEX(prefix, name, suffix, style, integers, decoration, kind, scalar) prefix##name##suffix,
#define BLASTOFF_INDICES(name, kind, scalar) BLASTOFF_SPELLINGS(BLASTOFF_INDEX, name, kind, scalar)
  BLASTOFF_ROUTINES(BLASTOFF_INDICES)
#undef BLASTOFF_INDICES
#undef BLASTOFF_INDEX
      count,
};

inline constexpr int entry_point_count = static_cast<int>(EntryIndex::count);
inline constexpr int spelling_count = entry_point_count / static_cast<int>(blas::routine_count);

/// The table, in the order of EntryIndex.
extern const abi::EntryPoint entry_point_table[entry_point_count];

inline std::span<const abi::EntryPoint> entry_points() {
  return entry_point_table;
}

}  // namespace blastoff::intercept
