// The compressed symbol table that Fedora and others leave in stripped programs (.gnu_debugdata: an ELF file under xz).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace blastoff::intercept {

/// The decompressed bytes; empty if they are malformed or more than a symbol table could reasonably be.
std::vector<std::byte> decompress_symbols(std::span<const std::byte> compressed);

}  // namespace blastoff::intercept
