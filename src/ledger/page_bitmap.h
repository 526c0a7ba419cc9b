// One bit for each page of a chunk, and one for each of its words.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace blastoff::ledger {

inline constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
inline constexpr std::size_t max_pages_per_chunk = chunk_bytes / 4096;

/// Ranges are numbers of bits, [first, last). Trivial, so that zeroed memory is a valid empty bitmap.
template <std::size_t Bits>
class Bitmap {
 public:
  void set(std::size_t first, std::size_t last) {
    each_word(first, last, [this](std::size_t word, std::uint64_t mask) { words_[word] |= mask; });
  }
  void clear(std::size_t first, std::size_t last) {
    each_word(first, last, [this](std::size_t word, std::uint64_t mask) { words_[word] &= ~mask; });
  }
  void set(const Bitmap& others) {
    for (std::size_t word = 0; word < words_.size(); ++word) words_[word] |= others.words_[word];
  }
  void clear(const Bitmap& others) {
    for (std::size_t word = 0; word < words_.size(); ++word) words_[word] &= ~others.words_[word];
  }
  /// Leaves only those that are set in the others, too.
  void keep(const Bitmap& others) {
    for (std::size_t word = 0; word < words_.size(); ++word) words_[word] &= others.words_[word];
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
  bool all(const Bitmap& others) const {
    std::uint64_t missing = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) missing |= others.words_[word] & ~words_[word];
    return missing == 0;
  }
  bool any(const Bitmap& others) const {
    std::uint64_t common = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) common |= others.words_[word] & words_[word];
    return common != 0;
  }
  std::size_t count(std::size_t first, std::size_t last) const {
    std::size_t bits = 0;
    each_word(first, last, [&](std::size_t word, std::uint64_t mask) {
      bits += static_cast<std::size_t>(std::popcount(words_[word] & mask));
    });
    return bits;
  }
  bool test(std::size_t bit) const { return (words_[bit / 64] >> (bit % 64) & 1) != 0; }

  /// Calls visit(bit) for every bit that is set, ascending.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t word = 0; word < words_.size(); ++word)
      for (std::uint64_t rest = words_[word]; rest != 0; rest &= rest - 1)
        visit(word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
  }

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

  std::array<std::uint64_t, Bits / 64> words_;
};

using PageBitmap = Bitmap<max_pages_per_chunk>;

}  // namespace blastoff::ledger
