// Code that counts how often it is called.
#pragma once

#include <cstdint>
#include <vector>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// A function that adds one to the word of eight bytes at `counter`, and leaves all registers and flags as they are.
/// Its callers must exclude each other. It may stand at any address.
std::vector<std::byte> counting_stub(Architecture architecture, std::uint64_t counter);

}  // namespace blastoff::intercept::patch
