// The way from a patched function into our code.
#pragma once

#include <cstdint>
#include <vector>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// The longest entry stub.
inline constexpr std::size_t longest_entry_stub = 32;

/// Code that a patched function jumps to: it jumps on to `target` with `context` in a register that no argument uses
/// (x86-64: r11; aarch64: x17). It may stand anywhere.
std::vector<std::byte> entry_stub(Architecture architecture, std::uint64_t context, std::uint64_t target);

}  // namespace blastoff::intercept::patch
