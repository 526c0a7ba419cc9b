// The part of each matrix that a member of a team has on its device, and the copies between it and the memory that all
// share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/team.h"
#include "operation/operation.h"
#include "scalapack/layout.h"

namespace blastoff::runtime {

/// The order of the blocks in which matrices are dealt out. Small ones are slow (docs/ranks.md). But each member is to
/// have a few of the largest matrix.
std::int64_t block_order(const operation::Operation& operation, int members);

/// A member's part of one operand.
class OwnPart {
 public:
  OwnPart(const operation::Operand& whole, int members, std::int64_t block, int member);

  /// The device memory that the part takes: at least one element.
  std::size_t bytes() const {
    return static_cast<std::size_t>(rows_ * std::max<std::int64_t>(1, own_share(columns_))) * whole_.element_size;
  }
  device::TeamPart at(device::Address address) const {
    return {.address = address, .leading_dimension = rows_, .columns = own_share(columns_)};
  }

  /// Queue the copies of what the operation reads, and of what it writes. A triangle is copied by whole blocks: the
  /// shared memory has room for the elements outside it.
  device::Status copy_to_device(device::Queue& queue, device::Address part) const;
  device::Status copy_to_host(device::Queue& queue, device::Address part) const;

 private:
  template <class Copy>
  device::Status each_block(device::Address part, const Copy& copy) const;

  const operation::Operand whole_;
  const std::int64_t rows_;  ///< at least 1
  const scalapack::Axis columns_;
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
