// What the soft-dirty tracker knows about single pages: which are tracked, and which were written since they were last
// protected although the kernel's bit has been cleared since.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <vector>

#include "platform/span.h"

namespace blastoff::tracking {

using platform::Span;

/// Not thread-safe.
class SoftDirtyPages {
 public:
  static constexpr std::size_t chunk_pages = 512;

  /// A bit for each page of a chunk. Changing bits writes only the words that change: after a clear the first write to
  /// memory costs a page fault.
  class Bits {
   public:
    bool test(std::size_t page) const { return (words_[page / 64] >> page % 64 & 1) != 0; }
    void put(std::size_t page, bool value) {
      const std::uint64_t bit = std::uint64_t{1} << page % 64;
      write(page / 64, value ? words_[page / 64] | bit : words_[page / 64] & ~bit);
    }
    void add(std::size_t first, std::size_t last, const Bits& among) {
      each_word(first, last,
                [&](std::size_t i, std::uint64_t mask) { write(i, words_[i] | (among.words_[i] & mask)); });
    }
    void add(std::size_t first, std::size_t last) {
      each_word(first, last, [&](std::size_t i, std::uint64_t mask) { write(i, words_[i] | mask); });
    }
    void remove(std::size_t first, std::size_t last) { remove(first, last, {}); }
    void remove(std::size_t first, std::size_t last, const Bits& except) {
      each_word(first, last,
                [&](std::size_t i, std::uint64_t mask) { write(i, words_[i] & ~(mask & ~except.words_[i])); });
    }
    bool all(std::size_t first, std::size_t last) const {
      bool all = true;
      each_word(first, last, [&](std::size_t i, std::uint64_t mask) { all = all && (words_[i] & mask) == mask; });
      return all;
    }
    bool any() const {
      return std::any_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word != 0; });
    }

    /// Calls use(page) for the pages in the range whose bit is set, ascending.
    template <class Use>
    void each(std::size_t first, std::size_t last, Use use) const {
      each_word(first, last, [&](std::size_t i, std::uint64_t mask) {
        for (std::uint64_t left = words_[i] & mask; left != 0; left &= left - 1)
          use(i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      });
    }

   private:
    void write(std::size_t index, std::uint64_t word) {
      if (words_[index] != word) words_[index] = word;
    }
    template <class Use>
    static void each_word(std::size_t first, std::size_t last, Use use) {
      while (first < last) {
        const std::size_t end = std::min(last, (first / 64 + 1) * 64);
        const std::uint64_t ones = end - first == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - first)) - 1;
        use(first / 64, ones << first % 64);
        first = end;
      }
    }

    std::array<std::uint64_t, chunk_pages / 64> words_{};
  };

  struct Chunk {
    Bits tracked;
    Bits pending;  ///< written since they were last protected
    Bits moving;   ///< swapped or migrating when last looked at
  };

  /// Pages that were not tracked count as written.
  void track(Span span);
  void untrack(Span span);
  bool tracked(Span span) const;

  /// Makes tracked pages pending.
  void add_pending(Span span);
  void all_pending();
  /// Appends the pending pages of a tracked span as ascending runs.
  void append_pending(Span span, std::vector<Span>& runs) const;
  /// The tracked pages of the span have been reported and are protected now. Pages that were moving stay pending, since
  /// a clear does not write-protect a page that is migrating.
  void settle(Span span);

  /// Calls use(chunk, address of its first page, first, last) for the chunks with tracked pages in the span, until it
  /// returns false.
  template <class Use>
  bool each_chunk(Span span, Use use) {
    for (auto at = chunks_.lower_bound(start_of_chunk(span.begin)); at != chunks_.end() && at->first < span.end; ++at) {
      const Span pages = part(at->first, span);
      const std::size_t first = (pages.begin - at->first) / platform::page_size();
      if (!use(at->second, at->first, first, first + pages.bytes() / platform::page_size())) return false;
    }
    return true;
  }
  template <class Use>
  bool each_chunk(Use use) {
    return each_chunk({0, ~std::uintptr_t{0}}, use);
  }

 private:
  static std::size_t chunk_bytes() { return chunk_pages * platform::page_size(); }
  static std::uintptr_t start_of_chunk(std::uintptr_t address) { return address / chunk_bytes() * chunk_bytes(); }
  static Span part(std::uintptr_t chunk, Span span) {
    return {std::max(chunk, span.begin), std::min(chunk + chunk_bytes(), span.end)};
  }

  std::map<std::uintptr_t, Chunk> chunks_;  // by address
};

}  // namespace blastoff::tracking
