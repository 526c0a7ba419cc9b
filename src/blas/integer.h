// Integers of the program, which have 4 or 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace blastoff::blas {

inline std::int64_t integer_at(const void* address, std::size_t bytes) {
  std::int64_t wide;
  std::int32_t narrow;
  if (bytes == sizeof wide) {
    std::memcpy(&wide, address, sizeof wide);
    return wide;
  }
  std::memcpy(&narrow, address, sizeof narrow);
  return narrow;
}

inline void put_integer(void* address, std::int64_t value, std::size_t bytes) {
  const auto narrow = static_cast<std::int32_t>(value);
  std::memcpy(address, bytes == sizeof value ? static_cast<const void*>(&value) : &narrow, bytes);
}

}  // namespace blastoff::blas
