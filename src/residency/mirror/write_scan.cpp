// What a call finds before it takes hold: memory that cannot be watched, and pages that the program has written. And
// pages that a call on the CPU is about to write.
#include <algorithm>
#include <utility>

#include "platform/interval_set.h"
#include "platform/stopwatch.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

namespace {

using device::Error;
using device::ErrorKind;
using platform::Span;

// A scan looks for the written pages of larger operands, and only these are protected. Several threads can scan the
// same pages at once, but they protect them in turns.
constexpr std::size_t large_look = std::size_t{8} << 20;

// Up to this many runs of written pages are protected one by one. For more, one call about all pages costs less.
constexpr std::size_t max_looks = 32;

// Whether a result that the CPU is about to write is large, and most of what lies on its pages.
bool worth_unprotecting(const operation::Operand& result) {
  constexpr std::size_t few_pages = 16;  // whose faults take less than finding them
  return !result.empty() && result.payload_bytes() >= few_pages * platform::page_size() &&
         result.payload_bytes() * 2 >= region_bytes(result);
}

/// `unseen`: without the pages that the operand fills.
std::vector<Span> regions_of(const operation::Operand& operand, bool unseen) {
  std::vector<Span> regions;
  if (!unseen) {
    each_region(operand, [&](Span region) { regions.push_back(region); });
    return regions;
  }
  platform::IntervalSet rest;
  each_region(operand, [&](Span region) { rest.add(region); });
  each_filled_run(operand, [&](Span run) { rest.remove(run); });
  rest.all_of([&](Span run) {
    regions.push_back(run);
    return true;
  });
  return regions;
}

// Whether to protect all of the operand takes much longer than to look for what was written.
bool takes_long(const operation::Operand& operand) {
  return operand.span_bytes() > large_look && (!has_wide_gaps(operand) || region_bytes(operand) > large_look);
}

tl::unexpected<Error> cannot_be_watched(const PageAcquisition& acquisition) {
  return tl::unexpected(Error{ErrorKind::unsupported, acquisition.copied_because});
}

tl::unexpected<Error> registered() {
  return tl::unexpected(Error{ErrorKind::unsupported, "memory that the program itself shares with the device"});
}

}  // namespace

// Scratch memory is used only for its addresses on the device, and its contents are never taken as current.
tl::expected<void, std::string> Coherence::watch(const operation::Operand& operand) {
  tl::expected<void, std::string> watched;
  each_region(operand, [&](Span region) {
    if (watched) watched = place_.watch(region);
  });
  return watched;
}

// Asking the driver may take long, so no lock is held. It is asked at the beginning of each call.
void Coherence::find_registered(PageAcquisition& acquisition) {
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].empty() || operands[i].intent == operation::Intent::scratch) continue;
    const Span whole = bounds(operands[i]);
    acquisition.registered[i] =
        registered_by_program({whole.begin, whole.begin + 1}) || registered_by_program({whole.end - 1, whole.end});
  }
}

// An operand in memory that cannot be watched is copied, as long as others keep their mirrors.
device::Status Coherence::check_memory(PageAcquisition& acquisition) {
  const auto operands = acquisition.call.operands();
  bool any_watched = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (operand.empty() || operand.intent == operation::Intent::scratch) continue;
    if (auto watched = watch(operand); !watched) {
      acquisition.copied_because = watched.error();
      if (acquisition.may_copy == Copied::none || operand.payload_bytes() > max_copied_)
        return cannot_be_watched(acquisition);
      copy_unwatched(acquisition, i);
      continue;
    }
    any_watched = true;
    if (acquisition.registered[i]) return registered();
  }
  return any_watched || acquisition.copied_because.empty() ? device::Status{} : cannot_be_watched(acquisition);
}

void Coherence::copy_unwatched(PageAcquisition& acquisition, std::size_t index) {
  const operation::Operand& operand = acquisition.call.operands()[index];
  acquisition.unwatched[index] = true;
  if (!std::exchange(acquisition.tracked[index], false)) return;
  lose(operand);  // it may have been watched before
  heuristic_.not_trackable(operand);
}

// The program may register memory with the device at any time, and the device may then write it unseen. But registering
// writes to the pages as far as the tracking is concerned. So only the pages that a scan finds written are asked about:
// both ends of every run, and one page in every `step` bytes between them. This overlooks smaller registrations if the
// CPU wrote the pages around them, too.
bool Coherence::any_registered(const std::vector<Span>& written) {
  constexpr std::size_t step = std::size_t{2} << 20;
  return std::any_of(written.begin(), written.end(), [&](Span run) {
    bool found = registered_by_program({run.end - 1, run.end});
    for (std::uintptr_t at = run.begin; at < run.end && !found; at += step) found = registered_by_program({at, at + 1});
    return found;
  });
}

/// Whether the pages that the result fills are given up with whatever the program has written to them, and nothing of
/// them is on the device. Then they need not be protected before: that takes longer than all else that a call does to
/// new memory. If the result goes home after all, its pages are protected then.
bool Coherence::is_given_up_unseen(const PageAcquisition& acquisition, std::size_t index) const {
  const operation::Operand& result = acquisition.call.operands()[index];
  if (!acquisition.stays[index] || operation::reads(result.intent) || !has_its_own_pages(result)) return false;
  for (std::size_t i = 0; i < acquisition.call.operands().size(); ++i)
    if (i != index && bounds(acquisition.call.operands()[i]).overlaps(bounds(result))) return false;
  bool known = false;
  each_filled_run(result, [&](Span run) {
    mirrors_.each_chunk(run, [&](const Chunk& chunk, std::size_t first, std::size_t last) {
      known = known || chunk.copy->current.any(first, last);
    });
  });
  return !known;
}

// Forgets everything about the operand's memory, which has gone without an event. Its pinned pages may have moved
// elsewhere.
void Coherence::lose(const operation::Operand& operand) {
  each_region(operand, [&](Span region) {
    place_.forget(region);
    place_.take(region);
    pins_->forget(region);
    heuristic_.forget(region);
  });
}

// Protects the pages of the operands that are tracked, and asks the driver about those that were written. Both take
// long, so no lock is held. What another thread finds meanwhile in the same pages is *invalid* here, for us too.
Coherence::Findings Coherence::look_at(const operation::Operand& operand, bool unseen) {
  Findings found;
  found.runs = regions_of(operand, unseen);
  found.large = takes_long(operand) && !unseen;
  if (found.large) {
    std::vector<Span> written;
    for (const Span region : found.runs) found.intact = found.intact && place_.scan(region, false, written);
    if (written.size() <= max_looks) found.runs = std::move(written);
  }
  std::vector<Span> written;
  const platform::Stopwatch protecting;
  for (const Span run : found.runs) {
    found.intact = found.intact && place_.protect(run, written, found.faulted);
    if (found.intact) found.bytes += run.bytes();
  }
  found.seconds = protecting.seconds();
  found.registered = found.intact && any_registered(written);
  return found;
}

// What is copied is not protected. But the pages may have been protected for an earlier operand, whose mirror has cost
// the page faults.
Coherence::Findings Coherence::look_at_copied(const operation::Operand& operand) {
  Findings found;
  each_region(operand, [&](Span region) {
    for (const Span run : place_.find_protected(region))
      found.intact = found.intact && place_.scan(run, false, found.faulted);
  });
  return found;
}

// Pages written since they were last protected are no longer current. False: watched memory was replaced.
device::Result<bool> Coherence::protect(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock) {
  const auto operands = acquisition.call.operands();
  const auto looks_at = [&](std::size_t i) { return acquisition.tracked[i] && !operands[i].empty(); };
  const bool counts_others = !place_.tracker().is_told() && !place_.shared();
  const auto is_copied = [&](std::size_t i) {
    return !acquisition.tracked[i] && !acquisition.unwatched[i] && operation::reads(operands[i].intent);
  };
  bool any = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!looks_at(i)) continue;
    any = true;
    acquisition.unseen[i] = is_given_up_unseen(acquisition, i);
  }
  PageAcquisition::PerOperand<Findings> found;
  if (any) {
    lock.unlock();
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (looks_at(i))
        found[i] = look_at(operands[i], acquisition.unseen[i]);
      else if (counts_others && is_copied(i))
        found[i] = look_at_copied(operands[i]);
    lock.lock();
    if (std::ranges::any_of(found, [](const Findings& each) { return each.large || !each.intact; })) apply_events();
  }
  Looks looks{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    heuristic_.learn_protecting(found[i].bytes, found[i].seconds);
    if (!found[i].intact) {
      lose(operands[i]);
      return false;
    }
    written_.clear();
    for (const Span run : found[i].runs) place_.invalid(run, written_);
    if (!acquisition.tracked[i]) written_ = found[i].faulted;
    if (!place_.tracker().is_told())
      count_written(acquisition, found[i].faulted, looks);  // else no write costs a fault
    std::size_t lost = 0;
    for (const Span run : written_) lost += place_.take(run);
    if (found[i].registered) {
      stop_tracking(operands[i]);  // so that the next scan finds the pages written, and they are asked about again
      return registered();
    }
    // Among several devices, what one has returned counts as written for the others.
    if (place_.tracker().faults_once_a_page() && !place_.shared()) acquisition.page_faults += lost;
    if (lost > 0 && acquisition.tracked[i] && operation::reads(operands[i].intent))
      acquisition.bytes_rewritten += std::min<std::uint64_t>(lost * platform::page_size(), operands[i].payload_bytes());
  }
  if (counts_others) count_own_writes(acquisition);
  judge(acquisition, looks);
  return true;
}

// A look at one operand also finds what was written between its columns, where another one may lie. A page fault counts
// for those on whose pages it was, and else for those between whose columns; and for the mirrors of earlier calls.
void Coherence::count_written(const PageAcquisition& acquisition, const std::vector<Span>& faulted, Looks& looks) {
  const auto operands = acquisition.call.operands();
  const std::size_t page = platform::page_size();
  const auto count = [&](Span one, bool current) {
    bool owned = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!acquisition.tracked[i] || !touches(operands[i], one)) continue;
      owned = true;
      looks[i].written += current ? 1 : 0;
      looks[i].faults += current ? 1 : 0;  // else it may be our own copy of a result that has written it
    }
    for (std::size_t i = 0; i < operands.size() && !owned; ++i)
      if (acquisition.tracked[i] && !operands[i].empty() && bounds(operands[i]).overlaps(one)) ++looks[i].faults;
  };
  // Among several devices, the faults are the process's. What this device has lost is its own.
  if (place_.shared()) {
    for (const Span run : written_)
      mirrors_.each_part(run, [&](const Chunk& chunk, Span pages) {
        const PageNumbers numbers = page_numbers(pages);
        if (!chunk.copy->current.any(numbers.first, numbers.last)) return;
        for (std::uintptr_t at = pages.begin; at < pages.end; at += page)
          if (chunk.copy->current.test(page_numbers({at, at + page}).first)) count({at, at + page}, true);
      });
    return;
  }
  for (const Span run : faulted) {
    for (std::uintptr_t at = run.begin; at < run.end; at += page) {
      const Span one{at, at + page};
      const Chunk* const chunk = mirrors_.find(at);
      const bool current = chunk && chunk->copy->current.test(page_numbers(one).first);
      count(one, current);
      if (current) heuristic_.faulted(one);
    }
  }
}

// Whether the mirrors have paid, as far as the look tells.
void Coherence::judge(PageAcquisition& acquisition, Looks& looks) {
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Look& look = looks[i];
    if (place_.shared()) look.faults = look.written;
    if (!acquisition.tracked[i] || operands[i].empty() || (look.faults == 0 && !heuristic_.asks(acquisition.call, i)))
      continue;
    count_kept(operands[i], look);
    if (!heuristic_.looked_at(acquisition.call, i, look)) continue;
    acquisition.tracked[i] = false;
    stop_tracking(acquisition, i);
  }
}

void Coherence::count_kept(const operation::Operand& operand, Look& look) const {
  each_covered_run(operand, [&](Span run) {
    look.pages += run.bytes() / platform::page_size();
    mirrors_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
      look.kept += chunk.copy->current.count(first, last);
    });
  });
}

// What stayed on the device comes home at once, and not page by page. A page that is not protected counts as written,
// whatever becomes current meanwhile. So the kernel is asked without the lock.
void Coherence::leave_to_cpu(const operation::Operation& call) {
  PageAcquisition::PerOperand<bool> came{};
  for (std::size_t i = 0; i < call.operands().size(); ++i)
    came[i] = !call.operands()[i].empty() && bring_home(call.operands()[i]);
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock)
    for (std::size_t i = 0; i < came.size(); ++i)
      if (came[i])
        stays_.left_to_cpu(platform::outward_to_pages(bounds(call.operands()[i])), call.operands()[i].payload_bytes());
  if (!place_.tracker().faults_once_a_page()) return;
  std::vector<Span> regions;
  call.each_result([&](std::size_t, const operation::Operand& result) {
    if (worth_unprotecting(result)) each_region(result, [&](Span region) { regions.push_back(region); });
  });
  if (regions.empty()) return;
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    apply_events();
    std::erase_if(regions, [&](Span region) { return place_.take(region) == 0; });
    give_back_ended(lock);
  }
  for (const Span region : regions) place_.unprotect(region);
}

// Between its columns may lie another operand, which keeps its mirror.
void Coherence::stop_tracking(const PageAcquisition& acquisition, std::size_t index) {
  const auto operands = acquisition.call.operands();
  bool alone = true;
  for (std::size_t i = 0; i < operands.size(); ++i)
    alone = alone && !(acquisition.tracked[i] && bounds(operands[i]).overlaps(bounds(operands[index])));
  if (alone) return stop_tracking(operands[index]);
  each_covered_run(operands[index], [&](Span run) {
    place_.unprotect(run);
    place_.take(run);
  });
}

// What the call writes to host memory is not to cost page faults.
void Coherence::go_past_mirrors(PageAcquisition& acquisition) {
  acquisition.past_mirrors = true;
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (worth_unprotecting(result)) stop_tracking(acquisition, i);
  });
}

void Coherence::stop_tracking(const operation::Operand& operand) {
  each_region(operand, [&](Span region) {
    place_.unprotect(region);
    place_.take(region);
  });
}

}  // namespace blastoff::residency::mirror
