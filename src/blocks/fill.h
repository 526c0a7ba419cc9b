// Sets all elements of a block to one number.
#pragma once

#include <cstddef>

#include "blocks/engine.h"

namespace blastoff::blocks {

/// blastoff_block_fill(). `element_size`: 4, 8 or 16 bytes.
Status fill(Engine& engine, Block& block, const void* value, std::size_t element_size, int place);

}  // namespace blastoff::blocks
