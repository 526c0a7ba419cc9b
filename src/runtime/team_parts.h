// The part of each matrix that a member of a team has on its device, and the copies between it and host memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/team.h"
#include "operation/operation.h"
#include "scalapack/layout.h"
#include "scalapack/team.h"

namespace blastoff::runtime {

/// A member's part of one operand.
class OwnPart {
 public:
  /// `own`: where the part lies in host memory, its columns without gaps; nullptr: in the whole operand.
  OwnPart(const operation::Operand& whole, const scalapack::Team& team, int member, std::byte* own);

  /// The device memory that the part takes: at least one element.
  std::size_t bytes() const {
    return static_cast<std::size_t>(rows_ * std::max<std::int64_t>(1, own_share(columns_))) * whole_.element_size;
  }
  device::TeamPart at(device::Address address) const {
    return {.address = address, .leading_dimension = rows_, .columns = own_share(columns_)};
  }

  /// Queue the copies of what the operation reads, and of what it writes. A triangle is copied by whole blocks, since
  /// the host memory has room for the elements outside it. But all elements of a part of its own go back to the
  /// program, so that results are copied there column by column.
  device::Status copy_to_device(device::Queue& queue, device::Address part) const;
  device::Status copy_to_host(device::Queue& queue, device::Address part) const;

 private:
  template <class Copy>
  device::Status each_block(device::Address part, const Copy& copy) const;
  template <class Copy>
  device::Status copy_block(device::Address part, std::int64_t column, std::int64_t own_column, std::int64_t columns,
                            const Copy& copy) const;

  const operation::Operand whole_;
  const std::int64_t rows_;  ///< at least 1
  const scalapack::Axis columns_;
  std::byte* const own_;
};

/// Device memory for the parts of one call.
class PartMemory {
 public:
  explicit PartMemory(device::Device& device) : device_(device) {}
  ~PartMemory();
  PartMemory(const PartMemory&) = delete;
  PartMemory& operator=(const PartMemory&) = delete;

  /// The copies of operands that the process keeps on its devices make room.
  device::Result<device::Address> take(std::size_t bytes);

 private:
  device::Device& device_;
  std::vector<device::Address> taken_;
};

}  // namespace blastoff::runtime
