// The hash of Fowler, Noll and Vo (FNV-1a, 64 bits): http://www.isthe.com/chongo/tech/comp/fnv/
#pragma once

#include <cstdint>
#include <string_view>

namespace blastoff::platform {

class FnvHash {
 public:
  /// One step, for a byte or a whole word.
  constexpr void add(std::uint64_t word) { value_ = (value_ ^ word) * 0x100000001b3U; }

  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

constexpr std::uint64_t hash(std::string_view text) {
  FnvHash hash;
  for (const char letter : text) hash.add(static_cast<unsigned char>(letter));
  return hash.value();
}

}  // namespace blastoff::platform
