// One bit for each page of a chunk.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace blastoff::residency::mirror {

inline constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
inline constexpr std::size_t max_pages_per_chunk = chunk_bytes / 4096;

/// Ranges are page numbers within the chunk, [first, last). Trivial, so that zeroed memory is a valid empty bitmap.
class PageBitmap {
 public:
  void set(std::size_t first, std::size_t last) {
    each_word(first, last, [this](std::size_t word, std::uint64_t mask) { words_[word] |= mask; });
  }
  void clear(std::size_t first, std::size_t last) {
    each_word(first, last, [this](std::size_t word, std::uint64_t mask) { words_[word] &= ~mask; });
  }
  void set(const PageBitmap& pages) {
    for (std::size_t word = 0; word < words_.size(); ++word) words_[word] |= pages.words_[word];
  }
  bool all(std::size_t first, std::size_t last) const {
    bool result = true;
    each_word(first, last, [&](std::size_t word, std::uint64_t mask) { result &= (words_[word] & mask) == mask; });
    return result;
  }
  bool any(std::size_t first, std::size_t last) const {
    bool result = false;
    each_word(first, last, [&](std::size_t word, std::uint64_t mask) { result |= (words_[word] & mask) != 0; });
    return result;
  }
  std::size_t count(std::size_t first, std::size_t last) const {
    std::size_t bits = 0;
    each_word(first, last, [&](std::size_t word, std::uint64_t mask) {
      bits += static_cast<std::size_t>(std::popcount(words_[word] & mask));
    });
    return bits;
  }
  bool test(std::size_t page) const { return (words_[page / 64] >> (page % 64) & 1) != 0; }

 private:
  template <class Visit>
  static void each_word(std::size_t first, std::size_t last, Visit&& visit) {
    for (std::size_t word = first / 64; word * 64 < last; ++word) {
      std::uint64_t mask = ~std::uint64_t{0};
      if (word * 64 < first) mask &= ~std::uint64_t{0} << (first % 64);
      if (last < (word + 1) * 64) mask &= ~std::uint64_t{0} >> (64 - last % 64);
      visit(word, mask);
    }
  }

  std::array<std::uint64_t, max_pages_per_chunk / 64> words_;
};

}  // namespace blastoff::residency::mirror
