// The simulated device's copy engine.
#pragma once

#include <cstddef>

namespace blastoff::device::simulated {

/// memcpy, as a DMA engine would do it: unseen by ThreadSanitizer. The program's other threads may be writing
/// neighbouring elements (or the whole matrix, against the rules of its own making), which is none of the library's
/// races.
void copy_bytes(void* destination, const void* source, std::size_t bytes);

/// `columns` runs of `column_bytes`, each `..._pitch` bytes after the one before.
void copy_columns(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                  std::size_t column_bytes, std::size_t columns);

}  // namespace blastoff::device::simulated
