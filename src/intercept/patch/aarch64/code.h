// A64 code as words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace blastoff::intercept::patch::aarch64 {

inline std::uint32_t word_at(std::span<const std::byte> code, std::size_t offset) {
  std::uint32_t word = 0;
  std::memcpy(&word, code.subspan(offset, sizeof word).data(), sizeof word);
  return word;
}

}  // namespace blastoff::intercept::patch::aarch64
