// The device's mirror of host memory: every mirrored host page has one device address for good, so that all matrices,
// and all parts of one matrix, meet in the same mirror. Device memory comes and goes behind those addresses, within the
// budget of MemoryClient::mirrors.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/device.h"
#include "ledger/ledger.h"
#include "platform/span.h"
#include "platform/stopwatch.h"
#include "residency/mirror/known_operands.h"
#include "residency/mirror/running_calls.h"

namespace blastoff::residency::mirror {

using ledger::chunk_bytes;
using ledger::max_pages_per_chunk;
using ledger::PageBitmap;

struct Window;

/// When memory was used, in calls, and when that is to be expected again. All zero: never used.
struct Uses {
  std::uint32_t latest = 0;
  std::uint32_t evictions = 0;  ///< that there had been at its latest use
  std::uint32_t interval = 0;  ///< from one use to the next, without those that nothing was evicted between; 0: unknown
};

/// Device memory behind a run of host addresses: the unit of eviction.
struct Backing {
  Window* window = nullptr;
  platform::Span host;  ///< what it holds; its ends may lie within a page
  device::Address device = 0;
  std::size_t bytes = 0;
  int holds = 0;                       ///< calls in flight that use it
  std::list<Backing>::iterator place;  ///< of itself, among the dead, those that leave, or the others
  Uses uses;
  bool made = false;    ///< false: the driver is mapping it, and no page of it is current; or it leaves
  bool leaves = false;  ///< it has been evicted: no call takes it, and the driver is to unmap it
  bool taken = false;   ///< a thread sees to that
  bool shrunk = false;  ///< while it was held, some of the memory that it holds went away
  std::optional<platform::Stopwatch> dead;  ///< since all of that has gone; see MirrorMemory::forget()
};

/// What is known about the pages of one chunk (2 MiB of host addresses, aligned).
struct Chunk {
  ledger::Copy* copy = nullptr;              ///< nullptr: nothing is known, and no device memory is behind it
  std::unique_ptr<KnownOperands> known;      ///< of partial pages; nullptr: there never were any
  std::unique_ptr<std::uint16_t[]> writers;  ///< per page, calls in flight that write a part of it on the device;
                                             ///< nullptr: none ever did
};

/// Pages [first, last) of a chunk.
struct PageNumbers {
  std::size_t first = 0;
  std::size_t last = 0;
};
inline PageNumbers page_numbers(platform::Span part_of_chunk) {
  const std::size_t begin = part_of_chunk.begin % chunk_bytes;
  return {begin / platform::page_size(), (begin + part_of_chunk.bytes()) / platform::page_size()};
}

/// A piece of device addresses of the size of a chunk.
struct Granule {
  Backing* backing;  ///< nullptr: no memory
  Uses uses;         ///< of memory that was evicted
};

/// Records of 128 MiB. They exist where device memory is, or was evicted, and end with the host memory.
struct Records {
  static constexpr std::size_t size = 64;
  std::array<Chunk, size> chunks;
  std::array<Granule, size> granules;
};

/// A run of host addresses with a fixed distance to a reservation of device addresses. malloc's large blocks begin 16
/// bytes into a page, and cuBLAS takes up to 1.8 times as long for matrices that are not aligned on the device: `shift`
/// puts the first matrix seen, and with it all of its kind, on an aligned address. Device memory comes in granules of
/// chunk_bytes, which therefore need not begin where chunks do: the last page of a chunk may reach into the granule of
/// the next number.
struct Window {
  platform::Span host;
  device::Address device = 0;
  std::size_t shift = 0;
  std::vector<std::unique_ptr<Records>> records;

  std::size_t chunk_of(std::uintptr_t address) const { return (address - host.begin) / chunk_bytes; }
  std::size_t granule_of(std::uintptr_t address) const { return (address - host.begin + shift) / chunk_bytes; }
  Records* records_of(std::size_t number) const { return records[number / Records::size].get(); }
  /// nullptr: nothing is known of it.
  Chunk* chunk(std::size_t number) const {
    Records* const known = records_of(number);
    Chunk* const chunk = known ? &known->chunks[number % Records::size] : nullptr;
    return chunk && chunk->copy ? chunk : nullptr;
  }
  Granule* granule(std::size_t number) const {
    Records* const known = records_of(number);
    return known ? &known->granules[number % Records::size] : nullptr;
  }
  Backing* backing(std::size_t granule_number) const {
    const Granule* const known = granule(granule_number);
    return known ? known->backing : nullptr;
  }
};

/// Not thread-safe: one lock of the owner's guards it. It is given back while the driver maps or unmaps memory, and
/// while what only the device has comes home; where that is so, is said below. Calls that need memory which is being
/// mapped or unmapped (`made`) wait until the owner is notified.
class MirrorMemory {
 public:
  MirrorMemory(device::Device& device, ledger::Place& place, RunningCalls& running, std::mutex& owners,
               std::condition_variable& changed)
      : device_(device), place_(place), running_(running), owners_(owners), changed_(changed) {}
  MirrorMemory(const MirrorMemory&) = delete;
  MirrorMemory& operator=(const MirrorMemory&) = delete;
  ~MirrorMemory();

  /// The device address of a host address in a window that back() has seen.
  device::Address device_address(std::uintptr_t host) const;

  /// Makes sure that a window covers all of `span`, so that addresses in it keep their distances on the device.
  /// unsupported: no window can. `aligned`: an address that should be well aligned on the device, if its window is
  /// still to be made.
  device::Status place(platform::Span span, std::uintptr_t aligned);
  bool placed(platform::Span span) const {
    const Window* window = window_of(span.begin);
    return window && window->host.contains(span);
  }

  /// Puts device memory behind all `runs`, and holds the backings until unhold(). Where the budget is spent, evicts
  /// what is to be used again last, as far as can be told from its uses up to now. A program that goes through more
  /// matrices than fit, again and again, finds some of them each time; if always the least recently used were evicted,
  /// it would find none. Nothing is held, and nothing evicted, where the runs exceed the budget (out_of_memory).
  /// Nothing is held where they do not fit beside what is held by others (the same), or the addresses cannot be
  /// mirrored (unsupported). Gives the lock back meanwhile. What there is under the runs and is not made, is left alone
  /// and not held. `aligned`: as in place().
  device::Result<std::vector<Backing*>> back(const std::vector<platform::Span>& runs, std::uintptr_t aligned);
  /// From here until unhold(), the memory stays.
  void hold(Backing& backing);
  void unhold(const std::vector<Backing*>& backings);
  /// The same after an acquisition without a use.
  void let_go(const std::vector<Backing*>& backings);

  /// Gives back the device memory that no call in flight uses, here or at another device. Gives the lock back
  /// meanwhile.
  void release_idle();

  /// The memory of the span is gone, or nothing is known of it any more: its pages are not current. Device memory that
  /// held nothing else is *dead* from here on. A program often maps its next matrix where the last one was, and then
  /// its device memory lives again. Until then it makes room before any other, and a 64th of the budget
  /// stays dead at most; the rest goes with unmap_evicted(). Where a backing has pieces between its first and its last,
  /// these two do not count, because neighbours that live reach into them.
  void forget(platform::Span span);
  /// Gives back the memory that has been dead longest, if that is so many seconds. Gives the lock back meanwhile.
  /// False: none has.
  bool release_dead(double seconds);
  /// Gives back what has been evicted and no other thread is giving back. Gives the lock back meanwhile. False: there
  /// is none.
  bool unmap_evicted();
  bool any_dead() const { return !dead_.empty(); }

  /// Whether there is device memory behind some of these pages.
  bool any_backed(platform::Span pages) const;
  /// Whether memory behind these pages has made room for others, and is not there again.
  bool evicted(platform::Span pages) const;

  /// The chunk of a host address; nullptr: nothing is known of it.
  Chunk* find(std::uintptr_t host) const;

  /// Calls visit(Backing&) for the backings under a run of pages, ascending. False: part of the run has none.
  template <class Visit>
  bool each_backing(platform::Span run, Visit&& visit) const {
    const Window* window = window_of(run.begin);
    if (!window || !window->host.contains(run)) return false;
    bool whole = true;
    const std::size_t last = window->granule_of(run.end - 1);
    for (std::size_t granule = window->granule_of(run.begin); granule <= last; ++granule) {
      if (Backing* const backing = window->backing(granule))
        visit(*backing);
      else
        whole = false;
    }
    return whole;
  }

  /// Calls visit(Chunk&, Span) for the parts of a span of whole pages that lie in one chunk each, ascending within a
  /// window, where something is known. That is so of all pages that a call holds.
  template <class Visit>
  void each_part(platform::Span span, Visit&& visit) const {
    for (const auto& window : windows_) {
      std::uintptr_t at = std::max(span.begin, window->host.begin);
      const std::uintptr_t end = std::min(span.end, window->host.end);
      while (at < end) {
        const std::size_t number = window->chunk_of(at);
        Chunk* const chunk = window->chunk(number);
        const std::size_t passed = window->records_of(number) ? 1 : Records::size - number % Records::size;
        const std::uintptr_t stop =
            std::min<std::uintptr_t>(end, (at & ~std::uintptr_t{chunk_bytes - 1}) + passed * chunk_bytes);
        if (chunk) visit(*chunk, platform::Span{at, stop});
        at = stop;
      }
    }
  }

  /// The same by page numbers, to change the pages' state: visit(ledger::Copy&, first_page, last_page), under its lock.
  template <class Visit>
  void change(platform::Span span, Visit&& visit) const {
    each_chunk(span, [&](Chunk& chunk, std::size_t first, std::size_t last) {
      const auto lock = chunk.copy->lock();
      visit(*chunk.copy, first, last);
    });
  }

  /// The same to look at it.
  template <class Visit>
  void each_chunk(platform::Span span, Visit&& visit) const {
    each_part(span, [&](Chunk& chunk, platform::Span part) {
      const PageNumbers pages = page_numbers(part);
      visit(chunk, pages.first, pages.last);
    });
  }

 private:
  using Lent = std::vector<const Backing*>;  ///< backings that another device copies from

  /// `held`: what is held so far, also where it fails.
  device::Status back(const std::vector<platform::Span>& runs, std::uintptr_t aligned, std::vector<Backing*>& held);
  Window* window_of(std::uintptr_t host) const;
  template <class Predicate>
  bool any_granule(platform::Span pages, Predicate&& predicate) const;
  device::Result<Window*> window_for(platform::Span span, std::uintptr_t aligned);
  bool within_budget(const std::vector<platform::Span>& runs) const;
  void add_backing(Window& window, std::size_t first, std::size_t last, std::vector<Backing*>& held);
  device::Status map(Backing& backing, Lent& lent);
  void wait_for_other_threads();
  void remove(Backing& backing);
  void make_records(Window& window, std::size_t first, std::size_t last);
  void drop_records(Window& window, std::size_t first, std::size_t last);
  static bool in_use(const Window& window, std::size_t records);
  void use(Uses& uses) const;
  std::uint32_t expected_in(const Uses& uses) const;
  bool evict_least_expected(const Lent& lent);
  void forget_granules(Window& window, std::size_t first, std::size_t last);
  bool holds_nothing(const Backing& backing) const;
  void bury_if_dead(Backing& backing);
  bool give_up_pages(const Backing& backing);
  void evict(Backing& backing);
  void unmap_evicted(Lent& lent);
  bool unmap(Backing& backing);
  void stay(Backing& backing);

  device::Device& device_;
  ledger::Place& place_;
  RunningCalls& running_;
  std::mutex& owners_;
  std::condition_variable& changed_;  // a backing was made, or has gone
  std::vector<std::unique_ptr<Window>> windows_;
  std::list<Backing> backings_;  // least recently used first
  std::list<Backing> dead_;      // longest dead first
  std::list<Backing> leaving_;
  std::size_t dead_bytes_ = 0;
  std::size_t bytes_ = 0;    // of all backings but those that leave
  std::uint32_t calls_ = 0;  // that have used mirrors
  std::uint32_t evictions_ = 0;
};

}  // namespace blastoff::residency::mirror
