// Which pages of host memory are out of date, and where? Kept for chunks of 2 MiB, and for each place that holds copies
// of them. One lock guards a group of chunks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ledger/page_bitmap.h"
#include "platform/span.h"

namespace blastoff::ledger {

using platform::Span;

/// Thread-safe. Places are numbered from 0. Spans are whole pages, except where said.
class States {
 public:
  /// From here on the place learns which pages of the span become *invalid*. Chunks that were not open are invalid as a
  /// whole: nothing is known of what happened to them before. What is open stays as it is.
  void open(std::size_t place, Span span);

  /// The place holds nothing more of the span, which may be any: chunks that lie wholly within it are closed.
  void close(std::size_t place, Span span);

  /// The pages are out of date at all places that have them open, or at all but `except`, which wrote them.
  void invalidate(Span span, std::size_t except = nowhere);
  static constexpr std::size_t nowhere = SIZE_MAX;

  /// Appends the runs of pages that are invalid at the place, in any order.
  void invalid(std::size_t place, Span span, std::vector<Span>& runs) { look(place, span, runs, false); }
  /// The same, and from here on they are not: the place knows it. Where memory for `runs` runs out, it throws, and
  /// the place may not take any page of the span for valid.
  void take_invalid(std::size_t place, Span span, std::vector<Span>& runs) { look(place, span, runs, true); }

  /// Whether the place has a chunk of the span open.
  bool any_open(std::size_t place, Span span);

 private:
  static constexpr std::size_t chunks_of_group = 64;
  static constexpr std::size_t group_bytes = chunks_of_group * chunk_bytes;
  static constexpr std::size_t stripes = 64;

  /// What one place has open of a group.
  struct Chunks {
    std::array<PageBitmap, chunks_of_group> invalid{};
    std::uint64_t open = 0;  ///< a bit for each chunk
  };
  struct Group {
    std::vector<std::unique_ptr<Chunks>> places;  ///< null: nothing is open there
  };
  struct Stripe {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, Group> groups;  ///< by number
  };

  template <class Visit>
  void each_group(Span span, Visit&& visit);
  template <class Visit>
  static void each_part(std::uintptr_t group, Span span, Visit&& visit);
  void look(std::size_t place, Span span, std::vector<Span>& runs, bool take);

  std::array<Stripe, stripes> stripes_;
};

}  // namespace blastoff::ledger
