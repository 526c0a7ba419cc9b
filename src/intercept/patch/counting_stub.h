// Makes code that counts its calls.
#pragma once

#include <cstdint>
#include <vector>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// Returns a function that adds one to the eight-byte word at `counter`, and preserves all registers and flags. Only
/// one thread may call it at a time. It may be placed at any address.
std::vector<std::byte> counting_stub(Architecture architecture, std::uint64_t counter);

}  // namespace blastoff::intercept::patch
