#include "runtime/team_parts.h"

#include <algorithm>

#include "runtime/process.h"

namespace blastoff::runtime {
namespace {

using device::Address;
using device::Result;
using device::Status;

}  // namespace

std::int64_t block_order(const operation::Operation& operation, int members) {
  constexpr std::int64_t best = 512;
  constexpr std::int64_t unit = 8;
  constexpr std::int64_t blocks_of_each = 4;
  std::int64_t longest = 0;
  for (const operation::Operand& operand : operation.operands())
    longest = std::max({longest, operand.rows, operand.columns});
  return std::clamp(longest / (blocks_of_each * members) / unit * unit, unit, best);
}

OwnPart::OwnPart(const operation::Operand& whole, int members, std::int64_t block, int member)
    : whole_(whole),
      rows_(std::max<std::int64_t>(1, whole.rows)),
      columns_({.begin = 0,
                .count = whole.columns,
                .block = block,
                .first_block = block,
                .process = member,
                .first = 0,
                .processes = members}) {}

Status OwnPart::copy_to_device(device::Queue& queue, Address part) const {
  if (!operation::reads(whole_.intent)) return {};
  return each_block(part, [&](std::byte* host, Address device, const device::Block& block) {
    return queue.copy_to_device(device, host, block);
  });
}

Status OwnPart::copy_to_host(device::Queue& queue, Address part) const {
  if (!operation::writes(whole_.intent)) return {};
  return each_block(part, [&](std::byte* host, Address device, const device::Block& block) {
    return queue.copy_to_host(host, device, block);
  });
}

template <class Copy>
Status OwnPart::each_block(Address part, const Copy& copy) const {
  Status status;
  const std::size_t element = whole_.element_size;
  columns_.each_own_run([&](std::int64_t column, std::int64_t own_column, std::int64_t columns) {
    const std::int64_t low = whole_.part == operation::Part::lower ? column : 0;
    const std::int64_t high = whole_.part == operation::Part::upper ? column + columns : whole_.rows;
    const std::int64_t from = std::max<std::int64_t>(0, low);
    if (from >= std::min(high, whole_.rows) || !status) return;
    auto* const host = static_cast<std::byte*>(whole_.address) +
                       static_cast<std::size_t>(column) * whole_.stride_bytes() +
                       static_cast<std::size_t>(from) * element;
    const Address device = part + static_cast<std::size_t>(own_column * rows_ + from) * element;
    status = copy(host, device,
                  device::Block{.column_bytes = static_cast<std::size_t>(std::min(high, whole_.rows) - from) * element,
                                .columns = static_cast<std::size_t>(columns),
                                .host_pitch = whole_.stride_bytes(),
                                .device_pitch = static_cast<std::size_t>(rows_) * element});
  });
  return status;
}

PartMemory::~PartMemory() {
  for (const Address address : taken_) device_.free(address);
}

Result<Address> PartMemory::take(std::size_t bytes) {
  taken_.reserve(taken_.size() + 1);
  Result<Address> address = device_.allocate(device::MemoryClient::workspaces, bytes);
  if (!address && address.error().kind == device::ErrorKind::out_of_memory) {
    if (DeviceSet* const own = Process::instance().devices_in_use()) own->release_operands();
    address = device_.allocate(device::MemoryClient::workspaces, bytes);
  }
  if (address) taken_.push_back(*address);
  return address;
}

}  // namespace blastoff::runtime
