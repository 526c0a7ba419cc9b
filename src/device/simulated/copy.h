// The simulated device's copy engine.
#pragma once

#include <cstddef>

namespace blastoff::device::simulated {

/// Copies `columns` runs of `column_bytes` bytes; consecutive runs start `..._pitch` bytes apart.
void copy_columns(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                  std::size_t column_bytes, std::size_t columns);

}  // namespace blastoff::device::simulated
