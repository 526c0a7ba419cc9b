#include "residency/transfers.h"

namespace blastoff::residency {

std::vector<Transfer> take_off(std::vector<Transfer>& transfers, std::size_t bytes) {
  std::vector<Transfer> taken;
  for (std::size_t sum = 0; sum < bytes && !transfers.empty();) {
    Transfer& last = transfers.back();
    device::Block& block = last.block;
    const std::size_t columns = std::min((bytes - sum - 1) / block.column_bytes + 1, block.columns);
    taken.push_back(last);
    taken.back().block.columns = columns;
    sum += columns * block.column_bytes;
    last.host = static_cast<std::byte*>(last.host) + columns * block.host_pitch;
    last.device += columns * block.device_pitch;
    block.columns -= columns;
    if (block.columns == 0) transfers.pop_back();
  }
  return taken;
}

}  // namespace blastoff::residency
