// Which blocks belong to one matrix, as far as their addresses tell.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "operation/operand.h"

namespace blastoff::decide {

/// A factorization uses another block of its matrix at each step. What it costs to bring the matrix counts against the
/// time that all of them lose without it. Blocks belong together if they have the same leading dimension and not a
/// whole column lies between them. The latest few dozen matrices are known. If two matrices are taken for one, a copy
/// comes a little too early or too late.
///
/// Takes no lock. Thread-safe; a race costs a little time.
class MatrixRegions {
 public:
  /// The number of the matrix to which the operand belongs; never 0.
  std::uint64_t key_of(const operation::Operand& operand);

 private:
  struct Region {
    std::atomic<std::uint64_t> key{0};  ///< 0: none
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<std::size_t> column_bytes{0};  ///< from one column to the next
    std::atomic<std::uint32_t> last_use{0};
  };
  static constexpr std::size_t max_regions = 64;

  std::array<Region, max_regions> regions_{};
  std::atomic<std::uint32_t> clock_{0};
};

}  // namespace blastoff::decide
