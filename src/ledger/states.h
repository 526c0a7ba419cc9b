// Who has which pages of host memory? Kept for chunks of 2 MiB, and for each place that holds a copy of one. One lock
// guards a group of chunks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/address.h"
#include "ledger/page_bitmap.h"
#include "ledger/used_bytes.h"
#include "platform/span.h"

namespace blastoff::ledger {

using platform::Span;

/// All memory, in whole chunks.
inline constexpr Span everything = {0, ~std::uintptr_t{chunk_bytes - 1}};

/// What guards a group of chunks.
struct GroupLock {
  std::mutex mutex;
  std::condition_variable arrived;  ///< some pages are not *arriving* any more
};

/// One place's copy of a chunk. Other places set *invalid* and `lent`, and read all of it, under the lock of its group.
/// Only the place itself changes the rest but *steady*, from one thread at a time and under that lock; so it reads the
/// rest without the lock.
struct Copy {
  PageBitmap invalid;               ///< somebody has written the page since; this stays until the place takes it
  PageBitmap current;               ///< the copy equals host memory as it was when the page was last protected
  PageBitmap partial;               ///< if current: only the bytes that were used are
  PageBitmap arriving;              ///< an upload is on its way
  PageBitmap steady;                ///< it has arrived since a call in flight began that reads every byte of the page:
                                    ///< whatever else is known, the copy equals host memory until that call is over
  PageBitmap newest;                ///< current, and the only copy: the host's page has been given up. While it is
                                    ///< lent, it may have been filled
  std::unique_ptr<UsedBytes> used;  ///< of partial pages; nullptr: there never were any
  device::Address address = 0;      ///< where the chunk lies at the place
  std::size_t lent = 0;             ///< by loans
  GroupLock* group = nullptr;

  std::unique_lock<std::mutex> lock() { return std::unique_lock(group->mutex); }
  /// The uploads of these pages have ended. Under the lock.
  void end_arrival(std::size_t first, std::size_t last) {
    arriving.clear(first, last);
    group->arrived.notify_all();
  }
};

/// Where a device has what host memory holds.
struct PagesOnDevice {
  Span host;
  device::Address device = 0;
  std::size_t place = 0;
};

/// Pages of other places that may be copied from as long as this lives: their copies stay where they are.
class Loan {
 public:
  Loan() = default;
  ~Loan();
  Loan(Loan&&) noexcept = default;
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  Loan& operator=(Loan&&) = delete;

  const std::vector<PagesOnDevice>& runs() const { return runs_; }

 private:
  friend class States;
  void add(PagesOnDevice run);

  std::vector<PagesOnDevice> runs_;
  std::vector<Copy*> copies_;
};

/// Thread-safe. Places are numbered from 0. Spans are whole pages. Everything but open() concerns open chunks alone.
/// platform::left_memory tells the program's threads at once where anything may be *newest*.
class States {
 public:
  States() = default;
  ~States();
  States(const States&) = delete;
  States& operator=(const States&) = delete;

  /// From here until it is closed, the place may have pages of the chunk, which begins at this host address, and learns
  /// which of them become *invalid*. Nothing is known of a copy that was not open.
  Copy& open(std::size_t place, std::uintptr_t chunk, device::Address address);
  /// The copy goes. Nothing of it is lent.
  void close(std::size_t place, std::uintptr_t chunk);

  /// The pages are out of date at all places, or at all but `except`. Where a page is *newest*, it remains so: nobody
  /// can have written it but after it came home.
  void invalidate(Span span, std::size_t except = nowhere);
  static constexpr std::size_t nowhere = SIZE_MAX;

  /// Appends the runs of pages that are invalid at the place, in any order.
  void invalid(std::size_t place, Span span, std::vector<Span>& runs);

  /// Appends where the place has its copies of the span, ascending. False: some of the span has none.
  bool where(std::size_t place, Span span, std::vector<PagesOnDevice>& runs);
  /// Appends the runs of pages that are newest nowhere, and those of them of which the place has not all bytes.
  void at_home(std::size_t place, Span span, std::vector<Span>& home, std::vector<Span>& lacking);

  /// The place has the only copy of these pages from here on: they are *newest* there. It has open copies of all of
  /// them. False: some of it is lent, by any place, and nothing has changed.
  bool leave(std::size_t place, Span span);
  /// Adds to the loan what is newest anywhere, of the whole span.
  void newest(Span span, Loan& loan);
  bool any_newest(Span span) { return newest_bytes(span) > 0; }
  std::size_t newest_bytes(Span span);
  /// Appends the runs of pages that are newest at the place and not on their way home, ascending.
  void newest_at(std::size_t place, Span span, std::vector<Span>& runs);
  bool any_lent(Span span);
  /// Whether all of the span is newest at the place, and none of it is on its way home.
  bool all_newest(std::size_t place, Span span);
  /// Host memory has the pages again.
  void home(Span span);
  /// The memory of the span has gone, or its contents: nobody has the pages.
  void gone(Span span);

  /// The place knows that it has none of these pages but newest ones: they are neither current nor invalid. Returns how
  /// many were current.
  std::size_t take(std::size_t place, Span span);

  /// Waits until none of these pages is *arriving* at the place, or until then.
  void await_arrival(std::size_t place, Span span, std::chrono::steady_clock::time_point until);
  /// The call is over that has kept these pages of the place *steady*.
  void end_steady(std::size_t place, Span span);

  /// Whether enough of a page is current at a place that has only some of its bytes.
  using Covers = std::function<bool(const Copy&, Span page)>;

  /// Adds to the loan what the holders have of the span: pages that have arrived and are *steady*, or current and not
  /// invalid; without `covers`, steady ones alone. Each page comes once.
  void who_has(Span span, std::span<const std::size_t> holders, const Covers& covers, Loan& loan);

 private:
  static constexpr std::size_t chunks_of_group = 64;
  static constexpr std::uintptr_t group_bytes = chunks_of_group * chunk_bytes;
  static constexpr std::size_t stripes = 64;

  using Copies = std::array<std::unique_ptr<Copy>, chunks_of_group>;
  struct Group {
    std::vector<Copies> places;
    std::size_t open = 0;
  };
  struct Stripe : GroupLock {
    std::unordered_map<std::uintptr_t, Group> groups;  ///< by number
  };
  /// The pages [first, last) of one chunk.
  struct Part {
    std::size_t chunk;     ///< within its group
    std::uintptr_t begin;  ///< host address of the chunk
    std::size_t first;
    std::size_t last;
  };

  template <class Visit>
  static void each_part_of(std::uintptr_t group, Span span, Visit&& visit);
  Stripe& stripe_of(std::uintptr_t group) { return stripes_[group % stripes]; }
  template <class Visit>
  void each_part(Span span, Visit&& visit);
  template <class Visit>
  void each_copy(std::size_t place, Span span, Visit&& visit);
  template <class Change>
  static void change_newest(Copy& copy, const Part& part, Change&& change);

  std::array<Stripe, stripes> stripes_;
  std::atomic<std::size_t> newest_ = 0;  ///< pages
};

}  // namespace blastoff::ledger
