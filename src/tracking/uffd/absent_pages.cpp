#include "tracking/uffd/absent_pages.h"

#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "platform/contained.h"
#include "platform/errno_guard.h"
#include "platform/mappings.h"
#include "platform/process.h"
#include "tracking/process_status.h"
#include "tracking/uffd/written_pages.h"

namespace blastoff::tracking {
namespace {

/// Each run is a mapping of its own, of which a process may have 65530 by default.
constexpr std::size_t max_runs = 4096;

/// A lock is held while so much is filled.
constexpr std::size_t max_at_once = std::size_t{256} << 10;

int advise(Span span, int advice) {
  return madvise(reinterpret_cast<void*>(span.begin), span.bytes(), advice) == 0 ? 0 : errno;
}

/// A request for contents that reader.control...() makes. UFFDIO_COPY, also for zeros: UFFDIO_ZEROPAGE does not fill an
/// absent page that is protected.
struct CopyRequest {
  CopyRequest(Span span, const std::byte* contents, std::uint64_t mode) {
    request.dst = span.begin;
    request.src = reinterpret_cast<std::uintptr_t>(contents);
    request.len = span.bytes();
    request.mode = mode;
  }

  /// The bytes that were filled, or the error number negated.
  std::int64_t outcome(int error) const { return error == 0 || request.copy > 0 ? request.copy : -error; }

  uffdio_copy request{};
};

/// One request, while no event waits. The pages are protected; those of zeros count as written.
std::int64_t fill_once(EventReader& reader, Span span, const std::byte* contents) {
  static std::byte zeros[max_at_once];  // never written, so that it takes no memory
  CopyRequest copy(span, contents == nullptr ? zeros : contents, contents == nullptr ? 0 : UFFDIO_COPY_MODE_WP);
  return copy.outcome(reader.control_while_quiet(UFFDIO_COPY, &copy.request));
}

/// One request, whatever waits. The pages count as written.
std::int64_t put_back_once(EventReader& reader, Span span, const std::byte* contents) {
  CopyRequest copy(span, contents, 0);
  return copy.outcome(reader.control(UFFDIO_COPY, &copy.request));
}

/// Makes requests until all of the span is filled. Returns the error number of the one that has no other way out, or 0.
template <class FillOnce>
int fill_all(EventReader& reader, Span span, const std::byte* contents, FillOnce&& fill_some) {
  const std::size_t page = platform::page_size();
  std::size_t most = max_at_once;
  for (std::uintptr_t at = span.begin; at < span.end;) {
    const Span part{at, std::min<std::uintptr_t>(at + most, span.end)};
    const std::int64_t filled = fill_some(reader, part, contents == nullptr ? nullptr : contents + (at - span.begin));
    if (filled > 0) {
      most = max_at_once;
      at += static_cast<std::uintptr_t>(filled);
    } else if (filled == -EEXIST) {
      uffdio_range present = {at, page};
      reader.control(UFFDIO_WAKE, &present);
      at += page;
    } else if (filled == -EAGAIN || filled == -ENOMEM) {  // an event that has not been taken; no memory just now
      sched_yield();
    } else if (filled == -ENOENT && part.bytes() > page) {  // two mappings
      most = std::max(page, part.bytes() / 2 / page * page);
    } else {
      return static_cast<int>(-filled);
    }
  }
  return 0;
}

}  // namespace

UffdAbsentPages::UffdAbsentPages(UffdMemoryEvents& events, PagemapFile& pagemap) : events_(events), pagemap_(pagemap) {
  events_.on_surrender([this](Span span) {
    if (Filler* const filler = filler_) filler->surrendered(span);
    const std::lock_guard lock(mutex_);
    platform::contained([&] { fork_with(span, span.begin); });
  });
  events_.on_event([this](auto& batch, std::size_t index) { hear(batch, index); });
}

/// The memory that was given up of the span, and is at another address by now, is for children again. Under the lock.
void UffdAbsentPages::fork_with(Span span, std::uintptr_t now_at) {
  not_forked_.each_common(span, [&](Span common) {
    const std::uintptr_t begin = common.begin - span.begin + now_at;
    advise({begin, begin + common.bytes()}, MADV_DOFORK);
  });
}

// What the program drops is to be zeros, without anybody's help.
void UffdAbsentPages::hear(std::vector<MemoryEvent>& events, std::size_t index) {
  const MemoryEvent event = events[index];
  if (Filler* const filler = filler_; filler && event.kind == MemoryEvent::Kind::moved) {
    platform::IntervalSet since;
    std::size_t heard = index + 1;
    const auto hear_the_others = [&] {
      for (; heard < events.size(); ++heard) since.add(events[heard].span);
    };
    for (hear_the_others(); !filler->moved(event.span, event.moved_to, since); hear_the_others())
      events_.take_more(events);
  }
  std::vector<Span> dropped;
  platform::contained([&] {
    const std::lock_guard lock(mutex_);
    if (event.kind == MemoryEvent::Kind::dropped)
      registered_.each_common(event.span, [&](Span span) { dropped.push_back(span); });
    registered_.remove(event.span);
    if (event.kind == MemoryEvent::Kind::dropped) return;
    if (event.kind == MemoryEvent::Kind::moved) {
      fork_with(event.span, event.moved_to);
      uffdio_range left = {event.span.begin, event.span.bytes()};  // by MREMAP_DONTUNMAP
      events_.control(UFFDIO_UNREGISTER, &left);
    }
    not_forked_.remove(event.span);
  });
  for (const Span span : dropped) {
    events_.unwatch(span);  // a registration for less changes nothing
    (void)events_.watch(span);
  }
}

// The registration is made each time: other memory may lie there since the last one. Under the lock.
tl::expected<void, std::string> UffdAbsentPages::prepare(Span span) {
  if (registered_.size() >= max_runs) return tl::unexpected(std::string("too many mappings would be split"));
  uffdio_register request{};
  request.range = {span.begin, span.bytes()};
  request.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP;
  if (const int error = events_.control(UFFDIO_REGISTER, &request); error != 0)
    return tl::unexpected(std::string("UFFDIO_REGISTER: ") + std::strerror(error));
  if (!events_.note_watched(span)) return tl::unexpected(std::string("no memory to remember what is watched"));
  registered_.add(span);
  if (!not_forked_.contains(span)) {
    if (const int error = advise(span, MADV_DONTFORK); error != 0)
      return tl::unexpected(std::string("MADV_DONTFORK: ") + std::strerror(error));
    not_forked_.add(span);
  }
  return {};
}

tl::expected<void, std::string> UffdAbsentPages::give_up(Span span, bool& partly) {
  partly = false;
  const std::lock_guard lock(mutex_);
  if (auto prepared = prepare(span); !prepared) return prepared;
  const int error = events_.reader().drop(span);
  if (error == 0) return {};
  partly = true;
  return tl::unexpected(std::string("MADV_DONTNEED: ") + std::strerror(error));
}

/// Moves the pages of the span, one mapping after the other, to `to`. `moved`: what has been moved, if it fails.
int UffdAbsentPages::move_away(Span span, platform::OwnedMapping& to, Span& moved) {
  platform::Mappings mappings;
  while (moved.end < span.end) {
    const auto mapping = mappings.covering(moved.end);
    if (!mapping) return EFAULT;
    const Span part{moved.end, std::min(mapping->span.end, span.end)};
    const std::uintptr_t at = to.span().begin + (part.begin - span.begin);
    if (const int error = events_.reader().move_away(part, at); error != 0) {
      to.keep_only_until(at, {at + part.bytes(), to.span().end});
      return error;
    }
    moved.end = part.end;
  }
  return 0;
}

// Memory that the program has locked would be locked no more. Where the pages lie now is registered like the span, and
// nobody fills what is absent there.
tl::expected<AbsentPages::Taken, std::string> UffdAbsentPages::take(Span span, const std::vector<Span>& present) {
  if (locked_kilobytes() > 0) return tl::unexpected(std::string("the program locks memory"));
  const std::lock_guard lock(mutex_);
  if (auto prepared = prepare(span); !prepared) return tl::unexpected(prepared.error());
  Taken taken{span, platform::OwnedMapping::reserved_like(span), {}};
  if (taken.pages.span().empty()) return tl::unexpected(std::string("no address space"));
  taken.written.reserve(1);
  const std::uintptr_t to = taken.pages.span().begin;
  int error = ENOMEM;
  Span moved{span.begin, span.begin};
  platform::contained([&] { error = move_away(span, taken.pages, moved); });
  if (error != 0) {
    put_back_within(taken, present, moved);
    return tl::unexpected(std::string("mremap: ") + std::strerror(error));
  }
  bool known = false;
  platform::contained([&] { known = written_pages(pagemap_, taken.pages.span(), false, true, 0, taken.written); });
  if (!known) taken.written.assign(1, taken.pages.span());
  events_.unwatch(taken.pages.span());
  for (Span& run : taken.written) run = {run.begin - to + span.begin, run.end - to + span.begin};
  return taken;
}

// A page whose memory has gone is left out.
void UffdAbsentPages::put_back(const Taken& taken, const std::vector<Span>& runs) {
  put_back_within(taken, runs, taken.span);
}

void UffdAbsentPages::put_back_within(const Taken& taken, const std::vector<Span>& runs, Span within) {
  const platform::ErrnoGuard errno_stays;
  for (const Span whole : runs) {
    const Span run{std::max(whole.begin, within.begin), std::min(whole.end, within.end)};
    if (run.begin >= run.end) continue;
    if (fill_all(events_.reader(), run, taken.at(run.begin), put_back_once) != 0)
      for (std::uintptr_t at = run.begin; at < run.end; at += platform::page_size())
        fill_all(events_.reader(), {at, at + platform::page_size()}, taken.at(at), put_back_once);
  }
}

AbsentPages::Filled UffdAbsentPages::fill(Span span, const void* contents) {
  const platform::ErrnoGuard errno_stays;
  switch (fill_all(events_.reader(), span, static_cast<const std::byte*>(contents), fill_once)) {
    case 0: return Filled::yes;
    case ECANCELED: return Filled::not_now;
    default: return Filled::gone;
  }
}

// Those of whom the reader could not tell touch their pages again.
bool UffdAbsentPages::wait(std::vector<std::uintptr_t>& addresses) {
  bool missed = false;
  if (!events_.reader().wait_for_faults(addresses, missed)) return false;
  const std::lock_guard lock(mutex_);
  if (missed)
    registered_.all_of([&](Span span) {
      uffdio_range range = {span.begin, span.bytes()};
      events_.control(UFFDIO_WAKE, &range);
      return true;
    });
  return true;
}

void UffdAbsentPages::before_fork() {
  const std::lock_guard lock(mutex_);
  not_forked_.all_of([](Span span) {
    advise(span, MADV_DOFORK);
    return true;
  });
  not_forked_.clear();
}

std::vector<Span> UffdAbsentPages::registered_within(Span span) {
  std::vector<Span> parts;
  const std::lock_guard lock(mutex_);
  registered_.each_common(span, [&](Span part) { parts.push_back(part); });
  return parts;
}

tl::expected<void, std::string> UffdAbsentPages::watch_others(Span span) {
  const std::lock_guard lock(mutex_);
  tl::expected<void, std::string> watched;
  registered_.each_gap(span, [&](Span other) {
    if (watched) watched = events_.watch(other);
  });
  return watched;
}

void UffdAbsentPages::forget(Span span) {
  const std::lock_guard lock(mutex_);
  platform::contained([&] {
    registered_.remove(span);
    fork_with(span, span.begin);
    not_forked_.remove(span);
  });
}

}  // namespace blastoff::tracking
