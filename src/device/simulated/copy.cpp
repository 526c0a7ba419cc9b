#include "device/simulated/copy.h"

#include "platform/racing_copy.h"

namespace blastoff::device::simulated {

void copy_columns(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                  std::size_t column_bytes, std::size_t columns) {
  if (column_bytes == 0 || columns == 0) return;
  if (destination_pitch == column_bytes && source_pitch == column_bytes) {
    platform::racing_copy(destination, source, column_bytes * columns);
    return;
  }
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  for (std::size_t column = 0; column < columns; ++column) {
    platform::racing_copy(to + column * destination_pitch, from + column * source_pitch, column_bytes);
  }
}

}  // namespace blastoff::device::simulated
