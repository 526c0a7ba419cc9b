// The code between a patched function and its hook.
#pragma once

#include <cstdint>
#include <vector>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// The longest entry stub.
inline constexpr std::size_t longest_entry_stub = 32;

/// Returns code to which a patched function jumps. It jumps on to `target`, with `context` in a register that holds no
/// argument (x86-64: r11; aarch64: x17). It may be placed at any address.
std::vector<std::byte> entry_stub(Architecture architecture, std::uint64_t context, std::uint64_t target);

}  // namespace blastoff::intercept::patch
