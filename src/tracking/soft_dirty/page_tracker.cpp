#include "tracking/soft_dirty/page_tracker.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "platform/contained.h"
#include "platform/mappings.h"
#include "platform/process.h"
#include "platform/threads.h"

namespace blastoff::tracking {
namespace {

/// Before Linux 5.19, the first write after a clear may give the program a copy of the page, while a device goes on
/// writing to the original.
bool locked_pages_stay_in_place() {
  int major = 0, minor = 0;
  std::sscanf(platform::kernel_release().c_str(), "%d.%d", &major, &minor);
  return std::pair(major, minor) >= std::pair(5, 19);
}

/// Whether the contents may have changed, judged by this entry. A page that is not there was dropped or never written;
/// the two look the same. Zeros that were dropped and then read look like any clean page, but are not exclusive. So
/// where drops may go unreported, every page that is not exclusive counts as written, and this includes pages shared
/// with a child of fork.
bool may_be_written(PagemapEntry entry, bool hears_of_dropping) {
  const bool there = entry.present() || entry.swapped();
  return entry.soft_dirty() || !there || (!hears_of_dropping && entry.present() && !entry.exclusive());
}

/// Whether there is nothing to note about these pages. This is the usual case, and the test costs a fraction of note().
bool unremarkable(const PagemapEntry* entries, std::size_t count, bool hears_of_dropping) {
  std::uint64_t any = 0, all = ~std::uint64_t{0};
  for (std::size_t i = 0; i < count; ++i) {
    any |= entries[i].word;
    all &= entries[i].word;
  }
  const PagemapEntry common{all};
  return (any & (PagemapEntry::soft_dirty_bit | PagemapEntry::of_file_bit | PagemapEntry::swapped_bit)) == 0 &&
         common.present() && (hears_of_dropping || common.exclusive());
}

}  // namespace

SoftDirtyPageTracker::SoftDirtyPageTracker(std::unique_ptr<SoftDirtyBits> bits, std::unique_ptr<MemoryEvents> events)
    : bits_(std::move(bits)),
      events_(std::move(events)),
      allows_pinning_(events_->complete() && locked_pages_stay_in_place()) {}

tl::expected<std::unique_ptr<PageTracker>, std::string> SoftDirtyPageTracker::open() {
  auto bits = SoftDirtyBits::open();
  if (!bits) return tl::unexpected(bits.error());
  // The bits alone are not enough: mremap moves whole page tables without setting any bit, possibly to addresses of
  // tracked memory.
  auto events = open_memory_events();
  if (!events) return tl::unexpected("soft-dirty bits do not report freed memory, and " + events.error());
  return std::unique_ptr<PageTracker>(new SoftDirtyPageTracker(std::move(*bits), std::move(*events)));
}

tl::expected<void, std::string> SoftDirtyPageTracker::track(Span span) {
  if (span.empty()) return {};
  const std::lock_guard lock(mutex_);
  // Events of earlier memory at these addresses must not be taken for events of the present memory.
  hear();
  if (!platform::fully_mapped(span)) return tl::unexpected(std::string("memory that is not mapped"));
  if (auto watched = events_->watch(span); !watched) return watched;
  // Same-page merging loses the bits of the pages that it merges. This call has no effect where nobody asked for
  // merging.
  madvise(reinterpret_cast<void*>(span.begin), span.bytes(), MADV_UNMERGEABLE);
  pages_.track(span);
  return {};
}

void SoftDirtyPageTracker::untrack(Span span) {
  const std::lock_guard lock(mutex_);
  pages_.untrack(span);
  events_->unwatch(span);
}

void SoftDirtyPageTracker::unprotect(Span span) {
  const std::lock_guard lock(mutex_);
  pages_.add_pending(span);
}

// Between two clears, bits are set and never cleared. So pages with a bit may be marked as pending at any time.
void SoftDirtyPageTracker::look(SoftDirtyPages::Chunk& chunk, std::uintptr_t address, std::size_t first,
                                std::size_t last, Look& found) {
  if (!bits_->read({address + first * platform::page_size(), address + last * platform::page_size()},
                   entries_.data())) {
    found.answered = false;
    return;
  }
  constexpr std::size_t at_once = 64;
  for (std::size_t begin = first; begin < last; begin += at_once) {
    const std::size_t end = std::min(last, begin + at_once);
    if (unremarkable(&entries_[begin - first], end - begin, events_->complete()))
      chunk.moving.remove(begin, end);
    else
      note(chunk, begin, end, &entries_[begin - first], found);
  }
}

void SoftDirtyPageTracker::note(SoftDirtyPages::Chunk& chunk, std::size_t first, std::size_t last,
                                const PagemapEntry* entries, Look& found) const {
  chunk.tracked.each(first, last, [&](std::size_t page) {
    const PagemapEntry entry = entries[page - first];
    if (entry.of_file()) found.anonymous = false;
    if (entry.soft_dirty()) found.soft_dirty = true;
    if (may_be_written(entry, events_->complete())) chunk.pending.put(page, true);
    chunk.moving.put(page, entry.swapped());
  });
}

SoftDirtyPageTracker::Look SoftDirtyPageTracker::look(Span span) {
  Look found;
  pages_.each_chunk(span,
                    [&](SoftDirtyPages::Chunk& chunk, std::uintptr_t address, std::size_t first, std::size_t last) {
                      look(chunk, address, first, last, found);
                      return found.answered;
                    });
  return found;
}

// Called after the look whose bits are to be believed: a foreign clear that comes later did not affect that look.
void SoftDirtyPageTracker::notice_foreign_clear() {
  if (bits_->undisturbed()) return;
  pages_.all_pending();
  bits_->mark();
}

// Takes the page faults that the looks would take, since the last clear protected our own memory, too.
void SoftDirtyPageTracker::warm_up() {
  [[maybe_unused]] volatile char stack[2048];
  stack[0] = 0;
  for (std::size_t i = 0; i < entries_.size(); i += 64) *const_cast<volatile std::uint64_t*>(&entries_[i].word) = 0;
  (void)bits_->undisturbed();
  (void)SoftDirtyBits::faults();
}

// A bit that is set between our look and the clear would be lost, for any page. But setting a bit takes a page fault,
// which is counted before the write. If others keep faulting while we look, we give up before the clear, which loses
// nothing and protects nothing. Pages that our own code faults in during one look are present during the next. Our own
// faults after the clear prove nothing and do no harm, since this thread runs no program code here.
bool SoftDirtyPageTracker::clear_once() {
  const platform::Descriptor clearing = SoftDirtyBits::prepare_clear();
  if (!clearing) return false;
  constexpr int max_looks = 4;
  SoftDirtyBits::Faults before;
  bool quiet = false;
  warm_up();
  for (int i = 0; i < max_looks && !quiet; ++i) {
    before = SoftDirtyBits::faults();
    if (!look({0, UINTPTR_MAX}).answered) return false;
    notice_foreign_clear();
    quiet = SoftDirtyBits::faults() == before;
  }
  if (!quiet || !SoftDirtyBits::clear(clearing)) return false;
  bits_->mark();
  if (SoftDirtyBits::faults().others != before.others) pages_.all_pending();
  return true;
}

// A page that migrates during the clear may afterwards be writable with its bit clear, since the kernel does not
// write-protect the entries of migrating pages. The second look finds such a page, whether or not it is still
// migrating. The second clear protects it unless it migrates again.
bool SoftDirtyPageTracker::clear() {
  const platform::SignalsBlocked no_handlers;  // a handler is program code
  return clear_once() && clear_once();
}

PageTracker::Scan SoftDirtyPageTracker::scan(Span span, bool protect, std::vector<Span>& written) {
  if (span.empty()) return Scan::ok;
  const std::lock_guard lock(mutex_);
  if (!pages_.tracked(span) || !platform::fully_mapped(span)) return Scan::not_tracked;
  const Look found = look(span);
  if (!found.answered || !found.anonymous) return Scan::not_tracked;
  notice_foreign_clear();
  // A page that is pending while its bit is clear has been protected by an earlier clear.
  const bool all_protected = protect && (!found.soft_dirty || clear());
  pages_.append_pending(span, written);
  if (all_protected) pages_.settle(span);
  return Scan::ok;
}

void SoftDirtyPageTracker::hear() {
  const std::size_t before = heard_.size();
  bool complete = false;
  const bool applied = platform::contained([&] {
    complete = events_->drain(heard_);
    for (std::size_t i = before; i < heard_.size(); ++i) {
      if (heard_[i].kind == MemoryEvent::Kind::dropped)
        pages_.add_pending(heard_[i].span);
      else
        pages_.untrack(heard_[i].span);
    }
  });
  if (complete && applied) return;
  events_lost_ = true;
  pages_.all_pending();
}

bool SoftDirtyPageTracker::drain(std::vector<MemoryEvent>& events) {
  const std::lock_guard lock(mutex_);
  hear();
  events.insert(events.end(), heard_.begin(), heard_.end());
  heard_.clear();
  return !std::exchange(events_lost_, false);
}

}  // namespace blastoff::tracking
