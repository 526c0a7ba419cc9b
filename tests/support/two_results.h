// An artificial front end for tests: an operation that writes two matrices and uses a third as scratch memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "operation/front_end.h"

namespace blastoff::test {

/// The payload: sum += scale * source and copy = scale * source, computed through the scratch matrix. The operands all
/// have the same shape: sum (update), source (read), scratch, copy (write); double precision. Only the sum may be a
/// triangle.
struct TwoResults {
  double scale = 1;
};

inline double* element(const operation::Operand& operand, std::int64_t row, std::int64_t column) {
  return static_cast<double*>(operand.address) + row + column * operand.leading_dimension;
}

inline bool within(operation::Part part, std::int64_t row, std::int64_t column) {
  return part == operation::Part::full || (part == operation::Part::upper ? row <= column : row >= column);
}

inline void compute_two_results(const operation::Operation& operation) {
  const double scale = operation.payload<TwoResults>().scale;
  const auto [sum, source, scratch, copy] =
      std::array{operation.operands()[0], operation.operands()[1], operation.operands()[2], operation.operands()[3]};
  for (std::int64_t j = 0; j < source.columns; ++j)
    for (std::int64_t i = 0; i < source.rows; ++i) *element(scratch, i, j) = scale * *element(source, i, j);
  for (std::int64_t j = 0; j < source.columns; ++j) {
    for (std::int64_t i = 0; i < source.rows; ++i) {
      if (within(sum.part, i, j)) *element(sum, i, j) += *element(scratch, i, j);
      *element(copy, i, j) = *element(scratch, i, j);
      *element(scratch, i, j) = std::numeric_limits<double>::infinity();
    }
  }
}

class TwoResultsFrontEnd final : public operation::FrontEnd {
 public:
  constexpr TwoResultsFrontEnd() = default;
  std::size_t routine_count() const override { return 1; }
  const char* routine_name(std::size_t) const override { return "two_results"; }
  std::string arguments(const operation::Operation&) const override { return ""; }

  /// Cuts all four operands into groups of columns.
  std::vector<operation::Operation> pieces(const operation::Operation& whole, std::size_t piece_bytes) const override {
    const auto operands = whole.operands();
    const std::size_t column = 2 * operands[0].column_bytes();
    const auto width = std::max<std::int64_t>(1, static_cast<std::int64_t>(piece_bytes / column));
    std::vector<operation::Operation> result;
    for (std::int64_t first = 0; first < operands[0].columns; first += width) {
      operation::Operation piece(whole.front_end(), whole.routine(), whole.payload<TwoResults>());
      piece.cutting = whole.cutting;
      for (operation::Operand operand : operands) {
        operand.address = element(operand, 0, first);
        operand.columns = std::min(width, operand.columns - first);
        piece.add(operand);
      }
      result.push_back(piece);
    }
    return result;
  }

  std::unique_ptr<operation::Verification> verification(const operation::Operation&, const operation::Host&,
                                                        operation::Effort) const override {
    return nullptr;
  }
};

class TwoResultsHost final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override { return operation.has_payload<TwoResults>(); }
  bool compute(const operation::Operation& operation) const override {
    compute_two_results(operation);
    return true;
  }
};

}  // namespace blastoff::test
