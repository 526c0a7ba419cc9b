// The compressed symbol table that Fedora and others leave in stripped programs (.gnu_debugdata: an ELF file under xz).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace blastoff::intercept {

/// Returns the decompressed bytes; empty if the input is malformed or decompresses to more than a symbol table can
/// have.
std::vector<std::byte> decompress_symbols(std::span<const std::byte> compressed);

}  // namespace blastoff::intercept
