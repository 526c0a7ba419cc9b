// The end of an acquisition: which pages are current when the results are at home.
#include <algorithm>

#include "platform/contained.h"
#include "platform/interval_set.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

namespace {

using platform::Span;

// Protecting a result column by column pays for few columns. One with more is treated with all between its first and
// its last element, if that is not much more; else it is uploaded again when it is next read.
constexpr int max_filled_runs = 64;

bool few_filled_runs(const operation::Operand& operand) {
  int runs = 0;
  each_filled_run(operand, [&](Span) { ++runs; });
  return runs <= max_filled_runs;
}

/// Whether it is protected with all between its first and its last byte. The short columns of a triangle fill no pages.
bool is_settled_as_region(const operation::Operand& operand) {
  return operand.columns > max_filled_runs && operand.span_bytes() <= 3 * operand.part_bytes() &&
         (operand.part != operation::Part::full || !few_filled_runs(operand));
}

/// Calls visit(run) for the pages of a staged result that are protected when it is at home.
template <class Visit>
void each_settled(const operation::Operand& result, Visit&& visit) {
  if (is_settled_as_region(result))
    each_region(result, visit);
  else if (few_filled_runs(result))
    each_filled_run(result, visit);
}

}  // namespace

void Coherence::expect_staged_return(const PageAcquisition& acquisition) {
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (return_of(acquisition, i) != Return::staged || acquisition.unwatched[i]) return;
    each_settled(result, [&](Span run) { place_.unprotect(run); });
  });
}

// A staged return takes a page fault for each protected page that is not settled. Those that are current by now have
// been protected for the mirrors of earlier calls.
void Coherence::count_own_writes(const PageAcquisition& acquisition) {
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (return_of(acquisition, i) != Return::staged || acquisition.unwatched[i]) return;
    platform::IntervalSet settled;
    each_settled(result, [&](Span run) { settled.add(run); });
    const auto count = [&](Chunk& chunk, Span pages) {
      for (std::uintptr_t at = pages.begin; at < pages.end; at += platform::page_size()) {
        const Span one{at, at + platform::page_size()};
        if (chunk.copy->current.test(page_numbers(one).first)) heuristic_.faulted(one);
      }
    };
    each_touched_run(result,
                     [&](Span run) { settled.each_gap(run, [&](Span rest) { mirrors_.each_part(rest, count); }); });
  });
}

void Coherence::prepare_finish(PageAcquisition& acquisition) {
  bool kept = false;
  acquisition.call.each_result(
      [&](std::size_t i, const operation::Operand&) { kept = kept || acquisition.tracked[i]; });
  if (!kept) return;
  const std::lock_guard lock(mutex_);
  find_result_pages(acquisition);
}

void Coherence::find_result_pages(PageAcquisition& acquisition) {
  if (acquisition.result_pages) return;
  auto& found = acquisition.result_pages.emplace();
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (!acquisition.tracked[i] || return_of(acquisition, i) != Return::direct) return;
    std::size_t at = found.size();
    each_touched_run(result, [&](Span run) {
      mirrors_.each_part(run, [&](Chunk& chunk, Span pages) {
        if (found.size() == at || found.back().chunk != &chunk)
          found.push_back({i, &chunk, pages.begin - pages.begin % chunk_bytes});
        found.back().shared.set(page_numbers(pages).first, page_numbers(pages).last);
      });
    });
    each_filled_run(result, [&](Span run) {
      mirrors_.each_part(run, [&](Chunk& chunk, Span pages) {
        while (found[at].chunk != &chunk) ++at;
        found[at].filled.set(page_numbers(pages).first, page_numbers(pages).last);
        found[at].shared.clear(page_numbers(pages).first, page_numbers(pages).last);
      });
    });
  });
}

// What the CPU writes when it returns a result, the page table shows to all. What this device wrote itself it does not,
// whether or not all of it came home.
void Coherence::tell_other_devices(const PageAcquisition& acquisition) {
  if (!place_.shared()) return;
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (return_of(acquisition, i) == Return::direct) each_touched_run(result, [&](Span run) { place_.wrote(run); });
  });
}

bool Coherence::keeps(const PageAcquisition& acquisition, std::size_t operand) const {
  return acquisition.tracked[operand] && !place_.foreign();
}

// What we wrote ourselves must not look like the program rewriting the matrix at its next use. Protecting takes long,
// so no lock is held.
void Coherence::protect_staged(const PageAcquisition& acquisition, PageAcquisition::PerOperand<bool>& intact) {
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (!keeps(acquisition, i) || return_of(acquisition, i) != Return::staged) return;
    std::vector<Span> written;
    std::vector<Span> faulted;
    intact[i] = true;
    each_settled(result, [&](Span run) { intact[i] = intact[i] && place_.protect(run, written, faulted); });
  });
}

// Pages that lie wholly within a result are now equal on both sides. The other pages keep their state, because the
// neighbouring bytes decide it, unless the CPU wrote them when it returned the result.
void Coherence::settle(const PageAcquisition& acquisition, bool home, const PageAcquisition::PerOperand<bool>& intact) {
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!scribbles(operands[i].intent)) continue;
    if (home && acquisition.tracked[i] && return_of(acquisition, i) != Return::staged) continue;
    each_covered_run(operands[i], [&](Span run) { place_.take(run); });
  }
  if (!home) return;
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (!keeps(acquisition, i) || return_of(acquisition, i) == Return::none) return;
    if (return_of(acquisition, i) == Return::direct)
      settle_direct(acquisition, i);
    else if (!settle_staged(result, intact[i]) && operation::reads(result.intent))
      heuristic_.lost(acquisition.call, i);
  });
}

// False: nothing of it is current.
bool Coherence::settle_staged(const operation::Operand& result, bool intact) {
  if (is_settled_as_region(result)) {
    settle_region(result, intact);
    return true;
  }
  if (!few_filled_runs(result)) return false;
  if (!intact) return true;
  each_filled_run(result, [&](Span run) {
    mirrors_.each_part(run, [](Chunk& chunk, Span pages) {
      const auto lock = chunk.copy->lock();
      make_wholly_current(*chunk.copy, pages);
    });
  });
  return true;
}

// The look at pages that hold none of the result ends what is known of them, as any look does.
void Coherence::settle_region(const operation::Operand& result, bool intact) {
  written_.clear();
  each_region(result, [&](Span region) { place_.invalid(region, written_); });
  for (const Span run : written_) place_.take(run);
  if (!intact) return;
  examined_.begin();
  each_touched_run(result, [&](Span run) {
    mirrors_.each_part(run, [&](Chunk& chunk, Span pages) {
      examined_.add(chunk);
      const auto lock = chunk.copy->lock();
      for (std::uintptr_t at = pages.begin; at < pages.end; at += platform::page_size())
        make_current(chunk, {at, at + platform::page_size()}, result);
    });
  });
  examined_.end(result);
}

// On shared pages, too, the result's own bytes are now equal on both sides.
void Coherence::settle_direct(const PageAcquisition& acquisition, std::size_t operand) {
  const operation::Operand& result = acquisition.call.operands()[operand];
  const std::size_t size = platform::page_size();
  Validity validity(result, true);
  examined_.begin();
  for (const ResultPages& pages : *acquisition.result_pages) {
    if (pages.operand != operand) continue;
    Chunk& chunk = *pages.chunk;
    const auto lock = chunk.copy->lock();
    chunk.copy->current.set(pages.filled);
    chunk.copy->partial.clear(pages.filled);
    if (validity.known(chunk, pages.shared)) continue;
    examined_.add(chunk);
    pages.shared.each([&](std::size_t number) {
      const std::uintptr_t begin = pages.begin + number * size;
      if (touches(result, {begin, begin + size})) make_current(chunk, {begin, begin + size}, result);
    });
  }
  examined_.end(result);
}

// It has an end also without memory: then nothing is current.
void Coherence::end(PageAcquisition& acquisition, bool home) {
  loaded(acquisition, home);
  if (!acquisition.past_mirrors) --in_flight_;
  PageAcquisition::PerOperand<bool> intact{};
  const bool looked = !home || platform::contained([&] { protect_staged(acquisition, intact); });
  {
    std::unique_lock lock(mutex_);
    tell_other_devices(acquisition);
    const bool settled = looked && platform::contained([&] {
                           if (home) find_result_pages(acquisition);
                           settle(acquisition, home, intact);
                         });
    if (!settled) place_.take(ledger::everything);
    count_writer(acquisition, -1);
    forget_uses(acquisition, home);
    release_pins_of(acquisition);
    if (home && settled && std::ranges::find(acquisition.probes, true) != acquisition.probes.end()) {
      lock.unlock();
      platform::contained([&] { leave_probes(acquisition); });
      lock.lock();
    }
    mirrors_.unhold(acquisition.backings);
    platform::contained([&] { judge_uses(acquisition.call, acquisition.left); });
    acquisition.backings.clear();
    changed_.notify_all();
    give_back_ended(lock);
  }
}

void Coherence::judge_uses(const operation::Operation& call, const PageAcquisition::PerOperand<std::size_t>& left) {
  each_distinct_matrix(call, [&](std::size_t i, const operation::Operand& operand) {
    if (source_) stays_.used(call, i, left[i]);
    if (left[i] > 0 || mostly_left(operand))
      heuristic_.stayed(call, i);
    else if (heuristic_.used(call, i))
      stop_tracking(operand);
  });
}

void Coherence::passed(const operation::Operation& call) {
  const std::lock_guard lock(mutex_);
  platform::contained([&] { judge_uses(call, {}); });
}

}  // namespace blastoff::residency::mirror
