#include "runtime/team_parts.h"

#include <algorithm>

#include "runtime/process.h"

namespace blastoff::runtime {
namespace {

using device::Address;
using device::Result;
using device::Status;

}  // namespace

OwnPart::OwnPart(const operation::Operand& whole, const scalapack::Team& team, int member, std::byte* own)
    : whole_(whole),
      rows_(std::max<std::int64_t>(1, whole.rows)),
      columns_(team.columns(whole.columns, member)),
      own_(own) {}

Status OwnPart::copy_to_device(device::Queue& queue, Address part) const {
  if (!operation::reads(whole_.intent)) return {};
  return each_block(part, [&](std::byte* host, Address device, const device::Block& block) {
    return queue.copy_to_device(device, host, block);
  });
}

Status OwnPart::copy_to_host(device::Queue& queue, Address part) const {
  if (!operation::writes(whole_.intent)) return {};
  const auto copy = [&](std::byte* host, Address device, const device::Block& block) {
    return queue.copy_to_host(host, device, block);
  };
  if (own_ == nullptr || whole_.part == operation::Part::full) return each_block(part, copy);
  Status status;
  columns_.each_own_run([&](std::int64_t column, std::int64_t own_column, std::int64_t columns) {
    for (std::int64_t i = 0; i < columns && status; ++i) status = copy_block(part, column + i, own_column + i, 1, copy);
  });
  return status;
}

template <class Copy>
Status OwnPart::each_block(Address part, const Copy& copy) const {
  Status status;
  columns_.each_own_run([&](std::int64_t column, std::int64_t own_column, std::int64_t columns) {
    if (status) status = copy_block(part, column, own_column, columns, copy);
  });
  return status;
}

template <class Copy>
Status OwnPart::copy_block(Address part, std::int64_t column, std::int64_t own_column, std::int64_t columns,
                           const Copy& copy) const {
  const std::size_t element = whole_.element_size;
  const std::int64_t low = whole_.part == operation::Part::lower ? column : 0;
  const std::int64_t high = whole_.part == operation::Part::upper ? column + columns : whole_.rows;
  const std::int64_t from = std::max<std::int64_t>(0, low);
  if (from >= std::min(high, whole_.rows)) return {};
  const std::size_t own_pitch = static_cast<std::size_t>(rows_) * element;
  const std::size_t pitch = own_ != nullptr ? own_pitch : whole_.stride_bytes();
  std::byte* const begin = own_ != nullptr ? own_ : static_cast<std::byte*>(whole_.address);
  const auto host_column = static_cast<std::size_t>(own_ != nullptr ? own_column : column);
  return copy(begin + host_column * pitch + static_cast<std::size_t>(from) * element,
              part + static_cast<std::size_t>(own_column * rows_ + from) * element,
              device::Block{.column_bytes = static_cast<std::size_t>(std::min(high, whole_.rows) - from) * element,
                            .columns = static_cast<std::size_t>(columns),
                            .host_pitch = pitch,
                            .device_pitch = own_pitch});
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
