// Which pages an operand lies on, and which of them it fills.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "operation/operation.h"
#include "platform/interval_set.h"
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

/// Calls visit(Span) for the bytes of the operand's part within `range`, ascending and disjoint.
template <class Visit>
void each_span_within(const operation::Operand& operand, platform::Span range, Visit&& visit) {
  if (operand.empty()) return;
  const auto visit_common = [&](platform::Span span) {
    const platform::Span common{std::max(span.begin, range.begin), std::min(span.end, range.end)};
    if (!common.empty()) visit(common);
  };
  if (operand.contiguous() && operand.part == operation::Part::full) return visit_common(bounds(operand));
  const auto begin = reinterpret_cast<std::uintptr_t>(operand.address);
  const std::uintptr_t before = range.begin > begin ? (range.begin - begin) / operand.stride_bytes() : 0;
  for (auto column = static_cast<std::int64_t>(before);
       column < operand.columns && begin + static_cast<std::size_t>(column) * operand.stride_bytes() < range.end;
       ++column)
    visit_common(column_span(operand, column));
}

/// Whether the operand's part has a byte within `range`.
inline bool touches(const operation::Operand& operand, platform::Span range) {
  bool touched = false;
  each_span_within(operand, range, [&](platform::Span) { touched = true; });
  return touched;
}

/// The gap between columns of a matrix may be so wide that it contains unmapped pages, or megabytes of other memory
/// that would take time to scan. Columns with such gaps are treated one by one.
inline constexpr std::size_t wide_gap = std::size_t{2} << 20;

inline bool has_wide_gaps(const operation::Operand& operand) {
  return operand.columns > 1 && operand.stride_bytes() - operand.column_bytes() >= wide_gap;
}

/// Whether its contents come from the program, or go to it: no scratch memory, and no copy of the call's own.
inline bool holds_data(const operation::Operand& operand) {
  return !operand.empty() && !operand.transient && operand.intent != operation::Intent::scratch;
}

/// Calls visit(index, operand) for the matrices of the call that hold data, each once.
template <class Visit>
void each_distinct_matrix(const operation::Operation& call, Visit&& visit) {
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    bool first = holds_data(operands[i]);
    for (std::size_t j = 0; j < i; ++j)
      first = first && !(holds_data(operands[j]) && operands[j].address == operands[i].address);
    if (first) visit(i, operands[i]);
  }
}

/// Calls visit(Span) for ascending, disjoint runs of whole pages that together hold the operand, with the gaps between
/// its columns unless these have `min_gap` bytes.
template <class Visit>
void each_run(const operation::Operand& operand, std::size_t min_gap, Visit&& visit) {
  if (operand.empty()) return;
  if (operand.columns == 1 || operand.stride_bytes() - operand.column_bytes() < min_gap) {
    visit(platform::outward_to_pages(bounds(operand)));
    return;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(operand.address);
  for (std::int64_t column = 0; column < operand.columns; ++column) {
    const std::uintptr_t start = begin + static_cast<std::size_t>(column) * operand.stride_bytes();
    visit(platform::outward_to_pages({start, start + operand.column_bytes()}));
  }
}

/// The same with all gaps that are not wide.
template <class Visit>
void each_region(const operation::Operand& operand, Visit&& visit) {
  each_run(operand, wide_gap, visit);
}

/// Bytes of the regions.
inline std::size_t region_bytes(const operation::Operand& operand) {
  std::size_t bytes = 0;
  each_region(operand, [&](platform::Span region) { bytes += region.bytes(); });
  return bytes;
}

/// Whether all bytes of `inner` are bytes of `outer`, as far as the same or no distance between their columns tells.
inline bool covers(const operation::Operand& outer, const operation::Operand& inner) {
  if (outer.empty() || inner.empty()) return inner.empty();
  const platform::Span outside = bounds(outer);
  const platform::Span inside = bounds(inner);
  if (!outside.contains(inside)) return false;
  if (outer.part == operation::Part::full && outer.contiguous()) return true;
  const std::size_t stride = outer.stride_bytes();
  if (inner.columns > 1 && inner.stride_bytes() != stride) return false;
  const std::size_t column = (inside.begin - outside.begin) / stride;
  const std::size_t row = (inside.begin - outside.begin) % stride;
  if (row + inner.column_bytes() > outer.column_bytes()) return false;
  if (outer.part == operation::Part::full) return true;
  // A triangle holds those along its diagonal, and the boxes on its side of it.
  const std::size_t size = outer.element_size;
  if (inner.part == outer.part) return inner.element_size == size && row == column * size;
  const std::size_t last_column = column + static_cast<std::size_t>(inner.columns) - 1;
  return outer.part == operation::Part::lower ? row >= last_column * size
                                              : row + inner.column_bytes() <= (column + 1) * size;
}

/// Calls visit(Span) for ascending, disjoint runs of whole pages that together hold every byte of the operand's box;
/// pages that lie wholly in the gap between two columns are left out.
template <class Visit>
void each_covered_run(const operation::Operand& operand, Visit&& visit) {
  each_run(operand, platform::page_size(), visit);
}

/// The same for the operand's part: of a triangle not the pages on which the other one lies alone. Runs of neighbouring
/// columns may have a page in common.
template <class Visit>
void each_touched_run(const operation::Operand& operand, Visit&& visit) {
  if (operand.part == operation::Part::full) return each_covered_run(operand, std::forward<Visit>(visit));
  for (std::int64_t column = 0; column < operand.columns; ++column) {
    const platform::Span span = column_span(operand, column);
    if (!span.empty()) visit(platform::outward_to_pages(span));
  }
}

/// Calls visit(Span) for the bytes of the operand's part that lie on pages which it does not fill, ascending and
/// disjoint; for a part of which few runs are filled.
template <class Visit>
void each_span_on_shared_pages(const operation::Operand& operand, Visit&& visit);

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

template <class Visit>
void each_span_on_shared_pages(const operation::Operand& operand, Visit&& visit) {
  platform::IntervalSet filled;
  each_filled_run(operand, [&](platform::Span run) { filled.add(run); });
  each_span_within(operand, bounds(operand), [&](platform::Span span) { filled.each_gap(span, visit); });
}

}  // namespace blastoff::residency
