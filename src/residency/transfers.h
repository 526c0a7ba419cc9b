// What becomes of transfers on their way: cut into shares, and queued from page-locked memory without staging.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "platform/span.h"
#include "residency/staging.h"

namespace blastoff::residency {

inline std::size_t bytes_of(std::span<const Transfer> transfers) {
  std::size_t bytes = 0;
  for (const Transfer& each : transfers) bytes += each.block.column_bytes * each.block.columns;
  return bytes;
}

/// From the first byte to the last.
inline platform::Span host_span(const Transfer& transfer) {
  const auto begin = reinterpret_cast<std::uintptr_t>(transfer.host);
  return {begin, begin + (transfer.block.columns - 1) * transfer.block.host_pitch + transfer.block.column_bytes};
}

/// Not triangles, and not short columns: the copy engine is slow at them.
inline bool suits_copy_engine(const Transfer& transfer) {
  constexpr std::size_t short_column = 512;
  return transfer.part == operation::Part::full &&
         (transfer.block.columns == 1 || transfer.block.column_bytes >= short_column);
}

/// The block as one piece where nothing lies between its columns.
inline device::Block joined(const device::Block& block) {
  if (block.host_pitch != block.column_bytes || block.device_pitch != block.column_bytes) return block;
  const std::size_t bytes = block.column_bytes * block.columns;
  return {bytes, 1, bytes, bytes};
}

/// Takes about so many bytes off the list, whole columns. Uploads only, which have no triangles.
std::vector<Transfer> take_off(std::vector<Transfer>& transfers, std::size_t bytes);

/// Queues copies from memory that is page-locked, as `readable(transfer)` says, and takes them off the list. Whether
/// there were any.
template <class Readable>
device::Result<bool> copy_directly(std::vector<Transfer>& transfers, device::Queue& upload, const Readable& readable) {
  const auto direct = std::partition(transfers.begin(), transfers.end(),
                                     [&](const Transfer& each) { return !suits_copy_engine(each) || !readable(each); });
  const bool any = direct != transfers.end();
  std::vector<device::Run> runs;
  for (auto each = direct; each != transfers.end(); ++each) {
    const device::Block block = joined(each->block);
    if (block.columns == 1)
      runs.push_back({each->device, each->host, block.column_bytes});
    else if (auto queued = upload.copy_to_device(each->device, each->host, block); !queued)
      return tl::unexpected(queued.error());
  }
  if (auto queued = upload.copy_runs_to_device(runs); !queued) return tl::unexpected(queued.error());
  transfers.erase(direct, transfers.end());
  return any;
}

}  // namespace blastoff::residency
