// Which pages an operand lies on, and which of them it fills.
#pragma once

#include <algorithm>
#include <cstdint>

#include "operation/operand.h"
#include "platform/span.h"

namespace blastoff::residency {

/// The bytes from the first element to the end of the last, gaps between columns included.
inline platform::Span bounds(const operation::Operand& operand) {
  const auto begin = reinterpret_cast<std::uintptr_t>(operand.address);
  return {begin, begin + operand.span_bytes()};
}

/// Bytes of column `column` that the operand's part refers to.
inline platform::Span column_span(const operation::Operand& operand, std::int64_t column) {
  const std::int64_t first = operand.part == operation::Part::lower ? std::min(column, operand.rows) : 0;
  const std::int64_t last = operand.part == operation::Part::upper ? std::min(column + 1, operand.rows) : operand.rows;
  const auto begin =
      reinterpret_cast<std::uintptr_t>(operand.address) + static_cast<std::size_t>(column) * operand.stride_bytes();
  return {begin + static_cast<std::size_t>(first) * operand.element_size,
          begin + static_cast<std::size_t>(last) * operand.element_size};
}

/// Calls visit(Span) for ascending, disjoint runs of whole pages that together hold every byte of the operand's box;
/// pages that lie wholly in the gap between two columns are left out.
template <class Visit>
void each_covered_run(const operation::Operand& operand, Visit&& visit) {
  if (operand.empty()) return;
  const std::size_t gap = operand.stride_bytes() - operand.column_bytes();
  if (operand.columns == 1 || gap < platform::page_size()) {
    visit(platform::outward_to_pages(bounds(operand)));
    return;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(operand.address);
  for (std::int64_t column = 0; column < operand.columns; ++column) {
    const std::uintptr_t start = begin + static_cast<std::size_t>(column) * operand.stride_bytes();
    visit(platform::outward_to_pages({start, start + operand.column_bytes()}));
  }
}

/// Calls visit(Span) for ascending, disjoint runs of pages that the operand's part fills to the last byte.
template <class Visit>
void each_filled_run(const operation::Operand& operand, Visit&& visit) {
  if (operand.empty()) return;
  if (operand.contiguous() && operand.part == operation::Part::full) {
    const platform::Span run = platform::inward_to_pages(bounds(operand));
    if (!run.empty()) visit(run);
    return;
  }
  if (operand.column_bytes() < platform::page_size()) return;
  for (std::int64_t column = 0; column < operand.columns; ++column) {
    const platform::Span run = platform::inward_to_pages(column_span(operand, column));
    if (!run.empty()) visit(run);
  }
}

}  // namespace blastoff::residency
