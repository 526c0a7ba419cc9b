// The kinds of LAPACK routines. Each has a row in rows/.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include "lapack/rows/linear_systems.h"
#include "lapack/rows/norms.h"
#include "lapack/rows/orthogonal.h"
#include "lapack/rows/spectral.h"
#include "lapack/rows/symmetric_eigenproblems.h"

namespace blastoff::lapack {

inline constexpr std::size_t kind_count = [] {
  std::size_t count = 0;
#define BLASTOFF_COUNT(kind) ++count;
  BLASTOFF_LAPACK_KINDS(BLASTOFF_COUNT)
#undef BLASTOFF_COUNT
  return count;
}();
/// Indexed by Kind.
inline constexpr auto kind_table = [] {
  std::array<KindRow, kind_count> table{};
  const auto add = [&](const auto& rows) {
    for (const KindRow& row : rows) table[static_cast<std::size_t>(row.kind)] = row;
  };
  add(rows::linear_systems);
  add(rows::norms);
  add(rows::orthogonal);
  add(rows::symmetric_eigenproblems);
  add(rows::spectral);
  return table;
}();
static_assert(
    [] {
      std::size_t rows = 0;
      for (const std::size_t count :
           {std::size(rows::linear_systems), std::size(rows::norms), std::size(rows::orthogonal),
            std::size(rows::symmetric_eigenproblems), std::size(rows::spectral)})
        rows += count;
      for (std::size_t i = 0; i < kind_count; ++i)
        if (kind_table[i].kind != static_cast<Kind>(i)) return false;
      return rows == kind_count;
    }(),
    "each kind has a row");

constexpr const KindRow& row(Kind kind) {
  return kind_table[static_cast<std::size_t>(kind)];
}
inline const KindRow& kind_row(const Problem& problem) {
  return row(problem.kind());
}

/// Indexed by Routine.
inline constexpr auto argument_lists = [] {
  std::array<ArgumentList, routine_count> lists;
  for (std::size_t i = 0; i < routine_count; ++i)
    for (const Argument argument : row(routine_table[i].kind).arguments)
      if (is_passed(argument, blas::is_complex(routine_table[i].scalar))) lists[i].add(argument);
  return lists;
}();

constexpr const ArgumentList& argument_list(Routine routine) {
  return argument_lists[static_cast<std::size_t>(routine)];
}

/// The addresses and letters of the longest list.
inline constexpr std::size_t max_words = [] {
  std::size_t words = 0;
  for (const ArgumentList& list : argument_lists) words = list.words() > words ? list.words() : words;
  return words;
}();

}  // namespace blastoff::lapack
