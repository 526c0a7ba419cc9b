// Where a call's operands go on the device: which whole, which panel by panel.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "operation/operation.h"
#include "residency/staging.h"

namespace blastoff::residency::copy {

/// Panels in progress at once: one is uploaded, one computed, one copied back. Operands that are cut into panels have
/// that many buffers, used in turn.
inline constexpr std::size_t panels_in_progress = 3;

/// How one operand of the call lives on the device.
struct OperandLayout {
  bool whole = false;       ///< uploaded once, before the first panel; else each panel has a slice of its own
  std::size_t same_as = 0;  ///< index of the operand whose copy serves; its own index unless they are the same matrix
  std::size_t buffer_bytes = 0;  ///< of the whole copy or of the largest slice
};

struct Layout {
  std::vector<operation::Operation> panels;
  std::array<OperandLayout, operation::Operation::max_operands> operands;
};

/// Panels of about `panel_bytes` of result.
Layout lay_out(const operation::Operation& call, std::size_t panel_bytes);

/// Bytes of all results per panel, at most `max_result`, at which copies and arithmetic overlap well; all of them for
/// calls too small to cut.
std::size_t suitable_panel_bytes(const operation::Operation& call, std::size_t max_result);

/// Chooses a leading dimension with which the device reads columns fast; small and suitably aligned matrices, and
/// single rows, stay dense.
std::int64_t device_leading_dimension(const operation::Operand& operand);

/// Bytes from the first element to the last in device memory.
std::size_t device_bytes(const operation::Operand& operand, std::int64_t leading_dimension);

/// Bytes from the first element of `whole`, which has the leading dimension on the device, to the element that lies at
/// `element` in host memory.
std::size_t device_offset(const operation::Operand& whole, std::int64_t leading_dimension, const void* element);

/// Appends the transfers that upload `operand` to `address` on the device. A triangle is uploaded as boxes of columns:
/// this reads some elements outside the triangle, but writes nothing outside the copy.
void append_upload(const operation::Operand& operand, device::Address address, std::int64_t leading_dimension,
                   std::vector<Transfer>& transfers);

/// The transfer that brings exactly the elements of one result home.
Transfer result_transfer(const operation::Operand& host, device::Address address, std::int64_t leading_dimension);

}  // namespace blastoff::residency::copy
