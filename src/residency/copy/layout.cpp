#include "residency/copy/layout.h"

#include <algorithm>

namespace blastoff::residency::copy {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

bool read_the_same(const operation::Operand& a, const operation::Operand& b) {
  return same_matrix(a, b) && a.part == b.part && a.intent == operation::Intent::read &&
         b.intent == operation::Intent::read;
}

bool same_shape(const operation::Operand& a, const operation::Operand& b) {
  return a.rows == b.rows && a.columns == b.columns;
}

/// Whether all panels read the operand as a whole, or parts of it that overlap.
bool needed_whole(const operation::Operation& call, const std::vector<operation::Operation>& panels,
                  std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  if (operand.intent != operation::Intent::read) return false;
  if (panels.size() == 1 || call.cutting == operation::Cutting::one_triangle) return true;
  return same_shape(panels.front().operands()[index], operand);
}

}  // namespace

std::int64_t device_leading_dimension(const operation::Operand& operand) {
  constexpr std::size_t vector_bytes = 16;
  constexpr std::size_t line_bytes = 128;
  constexpr std::size_t small = std::size_t{64} << 10;
  const std::size_t bytes = operand.column_bytes();
  if (operand.rows == 1 || bytes % vector_bytes == 0 || operand.payload_bytes() <= small)
    return std::max<std::int64_t>(operand.rows, 1);
  return static_cast<std::int64_t>((bytes + line_bytes - 1) / line_bytes * line_bytes / operand.element_size);
}

std::size_t device_bytes(const operation::Operand& operand, std::int64_t leading_dimension) {
  operation::Operand copy = operand;
  copy.leading_dimension = leading_dimension;
  return copy.span_bytes();
}

Layout lay_out(const operation::Operation& call, std::size_t panel_bytes) {
  Layout layout;
  layout.panels = operation::pieces(call, panel_bytes);
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    OperandLayout& operand_layout = layout.operands[i];
    operand_layout.same_as = i;
    operand_layout.whole = needed_whole(call, layout.panels, i);
    if (i > 0 && layout.operands[0].whole && read_the_same(operands[0], operands[i])) {
      operand_layout = layout.operands[0];
    } else if (operand_layout.whole) {
      operand_layout.buffer_bytes = device_bytes(operands[i], device_leading_dimension(operands[i]));
    } else {
      for (const operation::Operation& panel : layout.panels) {
        for (std::size_t k = 0; k < panel.operands().size(); ++k) {
          if (panel.origin(k) != i) continue;
          const operation::Operand& slice = panel.operands()[k];
          operand_layout.buffer_bytes =
              std::max(operand_layout.buffer_bytes, device_bytes(slice, device_leading_dimension(slice)));
        }
      }
    }
  }
  return layout;
}

std::size_t suitable_panel_bytes(const operation::Operation& call, std::size_t max_result) {
  constexpr std::size_t not_worth_cutting = 16 * mebibyte;
  constexpr std::size_t per_panel = 24 * mebibyte;
  // At the end of each panel the copying threads meet, and the loads of a short panel are small. Many panels are worth
  // that where there are results to bring home meanwhile.
  constexpr std::size_t result_per_panel = 16 * mebibyte;
  constexpr std::size_t few = 8;
  const std::size_t result = call.result_bytes();
  std::size_t home = 0;
  call.each_result([&](std::size_t, const operation::Operand& operand) { home += operand.part_bytes(); });
  std::size_t moved = home;
  for (const operation::Operand& operand : call.operands()) {
    if (operation::reads(operand.intent)) moved += operand.part_bytes();
  }
  if (moved < not_worth_cutting && result <= max_result) return std::max<std::size_t>(result, 1) * 2;
  // Solves and triangular products lose efficiency on narrow panels.
  const bool triangular_operand = call.cutting == operation::Cutting::wide_strips;
  const std::size_t most = triangular_operand ? few : std::clamp<std::size_t>(home / result_per_panel, few, 32);
  const std::size_t count = std::clamp<std::size_t>(moved / per_panel, 2, most);
  return std::max<std::size_t>(std::min(home / count, max_result), 1);
}

std::size_t device_offset(const operation::Operand& whole, std::int64_t leading_dimension, const void* element) {
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(element) - static_cast<const std::byte*>(whole.address));
  const std::size_t stride = std::max<std::size_t>(whole.stride_bytes(), 1);
  return offset / stride * static_cast<std::size_t>(leading_dimension) * whole.element_size + offset % stride;
}

void append_upload(const operation::Operand& operand, device::Address address, std::int64_t leading_dimension,
                   std::vector<Transfer>& transfers) {
  if (operand.empty()) return;
  const std::size_t size = operand.element_size;
  const std::size_t device_pitch = static_cast<std::size_t>(leading_dimension) * size;
  const auto append = [&](std::size_t first, std::size_t end, std::size_t first_row, std::size_t end_row) {
    transfers.push_back(
        {.host = static_cast<std::byte*>(operand.address) + first * operand.stride_bytes() + first_row * size,
         .device = address + first * device_pitch + first_row * size,
         .block = {.column_bytes = (end_row - first_row) * size,
                   .columns = end - first,
                   .host_pitch = operand.stride_bytes(),
                   .device_pitch = device_pitch}});
  };
  const auto rows = static_cast<std::size_t>(operand.rows);
  const auto columns = static_cast<std::size_t>(operand.columns);
  if (operand.part == operation::Part::full) {
    append(0, columns, 0, rows);
    return;
  }
  const std::size_t width = std::max<std::size_t>(64, columns / 16);
  for (std::size_t first = 0; first < columns; first += width) {
    const std::size_t end = std::min(first + width, columns);
    if (operand.part == operation::Part::upper) {
      append(first, end, 0, end);
    } else {
      append(first, end, first, rows);
    }
  }
}

Transfer result_transfer(const operation::Operand& host, device::Address address, std::int64_t leading_dimension) {
  return {.host = host.address,
          .device = address,
          .block = {.column_bytes = host.column_bytes(),
                    .columns = static_cast<std::size_t>(host.columns),
                    .host_pitch = host.stride_bytes(),
                    .device_pitch = static_cast<std::size_t>(leading_dimension) * host.element_size},
          .part = host.part,
          .element_size = host.element_size};
}

}  // namespace blastoff::residency::copy
