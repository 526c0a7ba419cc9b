#include "residency/mirror/coherence.h"

#include <algorithm>
#include <utility>

#include "platform/log.h"
#include "platform/memory_map.h"
#include "platform/own_stack.h"
#include "residency/footprint.h"

namespace blastoff::residency::mirror {

namespace {

using device::Error;
using device::ErrorKind;
using platform::Span;

// Operands larger than this are looked at before the lock is taken, since asking the kernel about them takes long.
constexpr std::size_t large_look = std::size_t{8} << 20;

// Runs of written pages that are protected one by one; for more, one call about all pages costs less.
constexpr std::size_t most_looks = 32;

// Re-protecting a result column by column is worth it for few columns; more are simply uploaded again when next read.
constexpr int most_filled_runs = 64;

constexpr Span everything = {0, ~std::uintptr_t{chunk_bytes - 1}};

Span pages_of(const blas::Operand& operand) {
  return platform::outward_to_pages(bounds(operand));
}

bool few_filled_runs(const blas::Operand& operand) {
  int runs = 0;
  each_filled_run(operand, [&](Span) { ++runs; });
  return runs <= most_filled_runs;
}

// Device memory comes in chunks. A matrix that is a small part of one, on the stack of a thread that may end soon, is
// sooner copied than given a chunk of its own.
constexpr std::size_t small_on_stack = chunk_bytes / 16;

bool not_worth_a_chunk(const blas::Operand& operand) {
  return !operand.empty() && operand.span_bytes() <= small_on_stack && platform::on_own_stack(bounds(operand));
}

// A result whose box is mostly someone else's memory is not worth pinning as a whole.
bool dense_enough_to_pin(const blas::Operand& operand) {
  return operand.span_bytes() <= 4 * operand.payload_bytes();
}

}  // namespace

Coherence::Coherence(device::Device& device, platform::PageTracker& tracker, std::size_t budget, std::size_t pin_limit)
    : device_(device), watched_(tracker), shadow_(device, budget), pins_(device, pin_limit) {}

device::Address Coherence::device_address(const void* host) {
  const std::lock_guard lock(mutex_);
  return shadow_.device_address(reinterpret_cast<std::uintptr_t>(host));
}

void Coherence::apply_events() {
  events_.clear();
  if (!watched_.drain(events_)) {
    shadow_.invalidate(everything);
    pins_.forget({0, UINTPTR_MAX});
    rewrites_.forget({0, UINTPTR_MAX});
    return;
  }
  for (const platform::MemoryEvent& event : events_) {
    shadow_.invalidate(event.span);
    pins_.forget(event.span);
    rewrites_.forget(event.span);
  }
}

void Coherence::tidy() {
  const std::lock_guard lock(mutex_);
  apply_events();
}

device::Status Coherence::check_memory(const blas::Call& call) {
  for (const blas::Operand& operand : call.operands()) {
    if (operand.empty()) continue;
    if (auto watched = watched_.watch(pages_of(operand)); !watched)
      return tl::unexpected(Error{ErrorKind::unsupported, watched.error()});
    const Span first = {bounds(operand).begin, bounds(operand).begin + 1};
    if (!pins_.covers(first) && device_.registered_by_program(operand.address))
      return tl::unexpected(Error{ErrorKind::unsupported, "memory that the program itself shares with the device"});
  }
  return {};
}

// The runs of pages that are to be protected: all of a small operand, of a large one those that a look without the lock
// finds written. What another thread's scan takes away from under that look it applies before it lets go of the lock
// that we take next, so nothing is lost between. False: watched memory was replaced.
bool Coherence::look(const Hold& hold, std::unique_lock<std::mutex>& lock, Runs& written) {
  bool large = false;
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    written[i].clear();
    if (!hold.tracked[i] || operands[i].empty()) continue;
    if (operands[i].span_bytes() > large_look)
      large = true;
    else
      written[i] = {pages_of(operands[i])};
  }
  if (!large) return true;
  lock.unlock();
  const bool intact = look_unlocked(hold, written);
  lock.lock();
  apply_events();
  return intact;
}

bool Coherence::look_unlocked(const Hold& hold, Runs& written) {
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!hold.tracked[i] || operands[i].span_bytes() <= large_look) continue;
    if (!watched_.scan(pages_of(operands[i]), false, written[i])) return false;
    if (written[i].size() > most_looks) written[i] = {pages_of(operands[i])};
  }
  return true;
}

// Protects the pages; those written since the last time are not current any more. False: memory was replaced.
bool Coherence::protect(Hold& hold, const Runs& runs) {
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Span pages = pages_of(operands[i]);
    written_.clear();
    const bool intact =
        std::all_of(runs[i].begin(), runs[i].end(), [&](Span run) { return watched_.scan(run, true, written_); });
    if (!intact) {
      watched_.forget(pages);
      shadow_.invalidate(pages);
      return false;
    }
    if (!written_.empty()) unasked_ = true;
    std::size_t lost = 0;
    for (const Span run : written_) {
      shadow_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        lost += chunk.current.count(first, last);
        chunk.current.clear(first, last);
      });
    }
    if (lost > 0 && rewrites_.rewritten(operands[i], lost, pages.bytes() / platform::page_size())) {
      hold.tracked[i] = false;
      watched_.unprotect(pages);
      shadow_.invalidate(pages);
    }
  }
  return true;
}

void Coherence::survey_run(Survey& survey, Span run, bool read, bool tracked) {
  const bool backed = shadow_.each_backing(run, [&](Backing& backing) {
    if (survey.backings.empty() || survey.backings.back() != &backing) survey.backings.push_back(&backing);
  });
  if (!backed) survey.needs_memory = true;
  shadow_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
    if (chunk.loading.any(first, last)) survey.conflict = true;
    if (!read || !chunk.writers || (tracked && chunk.current.all(first, last))) return;
    for (std::size_t page = first; page < last; ++page)
      if (chunk.writers[page] > 0 && !(tracked && chunk.current.test(page))) survey.conflict = true;
  });
}

Coherence::Survey Coherence::survey(const Hold& hold) {
  Survey result;
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool read = blas::reads(operands[i].intent);
    each_covered_run(operands[i], [&](Span run) { survey_run(result, run, read, hold.tracked[i]); });
  }
  return result;
}

// From here on the pages count as current for everyone, once they have arrived. What is copied at every use does not.
void Coherence::claim_uploads(Hold& hold) {
  const std::size_t page = platform::page_size();
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!blas::reads(operands[i].intent)) continue;
    std::uint64_t bytes = 0;
    const bool tracked = hold.tracked[i];
    each_covered_run(operands[i], [&](Span run) {
      std::uintptr_t at = run.begin;
      shadow_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        if (tracked && chunk.current.all(first, last)) {
          at += (last - first) * page;
          return;
        }
        for (std::size_t number = first; number < last; ++number, at += page) {
          if (chunk.loading.test(number) || (tracked && chunk.current.test(number))) continue;
          chunk.loading.set(number, number + 1);
          if (tracked) chunk.current.set(number, number + 1);
          bytes += page;
          if (!hold.uploads.empty() && hold.uploads.back().end == at)
            hold.uploads.back().end += page;
          else
            hold.uploads.push_back({at, at + page});
        }
      });
    });
    hold.bytes_reused += operands[i].payload_bytes() > bytes ? operands[i].payload_bytes() - bytes : 0;
  }
  hold.loading = !hold.uploads.empty();
}

void Coherence::count_writer(const blas::Operand& result, int change) {
  each_covered_run(result, [&](Span run) {
    shadow_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
      std::uint16_t* writers = shadow_.writers(chunk);
      for (std::size_t page = first; page < last; ++page)
        writers[page] = static_cast<std::uint16_t>(writers[page] + change);
    });
  });
}

// Before the pages are protected, lest pinning them be taken for the program's writing at their next use.
void Coherence::take_pin(Hold& hold) {
  const blas::Operand& result = hold.call.result();
  if (result.empty() || !dense_enough_to_pin(result) || !watched_.allows_pinning()) return;
  bool created = false;
  hold.pin = pins_.hold(bounds(result), created);
  if (created) shadow_.invalidate(hold.pin->span);
}

void Coherence::release_pin(Hold& hold) {
  if (hold.pin) pins_.unhold(hold.pin);
  hold.pin = nullptr;
}

// What such a writer wrote before it was found, or until it went, nobody has told us.
std::optional<std::string> Coherence::foreign_writer() {
  unasked_ = false;
  auto writer = platform::foreign_writer(pins_.counted_kilobytes());
  if (writer || foreign_) shadow_.invalidate(everything);
  if (writer && !foreign_)
    platform::log_line("%s: matrices are copied to the device for every call, as long as that lasts", writer->c_str());
  foreign_ = writer.has_value();
  return writer;
}

void Coherence::look_for_foreign_writers() {
  if (!unasked_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (unasked_) foreign_writer();
}

device::Result<Hold> Coherence::hold(const blas::Call& call) {
  const auto operands = call.operands();
  if (std::any_of(operands.begin(), operands.end(), not_worth_a_chunk))
    return tl::unexpected(Error{ErrorKind::unsupported, "a small matrix on a thread's stack"});
  Hold hold;
  hold.call = call;
  std::unique_lock lock(mutex_);
  if (foreign_ || unasked_)
    if (const auto writer = foreign_writer()) return tl::unexpected(Error{ErrorKind::unsupported, *writer});
  apply_events();
  auto held = hold_pages(hold, lock);
  if (!held || (hold.pin && hold.pin->gone)) release_pin(hold);
  if (!held) return tl::unexpected(held.error());
  return hold;
}

device::Status Coherence::hold_pages(Hold& hold, std::unique_lock<std::mutex>& lock) {
  const blas::Call& call = hold.call;
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) hold.tracked[i] = rewrites_.worth_tracking(operands[i]);

  constexpr int most_replacements = 8;
  bool pin_asked_for = false;
  Runs written;
  for (int replaced = 0;;) {
    if (auto usable = check_memory(call); !usable) return tl::unexpected(usable.error());
    if (!std::exchange(pin_asked_for, true)) take_pin(hold);
    if (!look(hold, lock, written) || !protect(hold, written)) {
      if (++replaced == most_replacements)
        return tl::unexpected(Error{ErrorKind::unsupported, "memory that is replaced during the call"});
      continue;
    }
    Survey found = survey(hold);
    if (found.conflict) {
      changed_.wait(lock);
      apply_events();
      continue;
    }
    if (found.needs_memory) {
      const auto largest = std::max_element(operands.begin(), operands.end(), [](const auto& a, const auto& b) {
        return a.payload_bytes() < b.payload_bytes();
      });
      std::vector<Span> runs;
      for (const blas::Operand& operand : operands) each_covered_run(operand, [&](Span run) { runs.push_back(run); });
      auto backed = shadow_.back(runs, bounds(*largest).begin);
      if (!backed) return tl::unexpected(backed.error());
      hold.backings = std::move(*backed);
    } else {
      hold.backings = std::move(found.backings);
      for (Backing* backing : hold.backings) ++backing->holds;
    }
    claim_uploads(hold);
    count_writer(call.result(), +1);
    return {};
  }
}

void Coherence::loaded(Hold& hold, bool arrived) {
  if (!hold.loading) return;
  {
    const std::lock_guard lock(mutex_);
    for (const Span run : hold.uploads) {
      shadow_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        chunk.loading.clear(first, last);
        if (!arrived) chunk.current.clear(first, last);
      });
    }
    hold.loading = false;
  }
  changed_.notify_all();
}

void Coherence::before_staged_return(const Hold& hold) {
  const blas::Operand& result = hold.call.result();
  if (few_filled_runs(result)) each_filled_run(result, [&](Span run) { watched_.unprotect(run); });
}

// Pages that the result fills hold the same on both sides now. Of the others the neighbours' bytes decide: they stay
// what they were, unless the CPU wrote them while it brought the result home.
void Coherence::settle_result(const Hold& hold, Return how) {
  const blas::Operand& result = hold.call.result();
  const bool tracked = hold.tracked[static_cast<std::size_t>(hold.call.operand_count) - 1];
  const auto invalidate = [&](Span run) { shadow_.invalidate(run); };
  // What we wrote ourselves must not look at the next use as if the program kept rewriting it.
  if (how != Return::direct || !tracked) each_covered_run(result, invalidate);
  if (how == Return::failed || !tracked || foreign_) return;
  if (how == Return::direct) {
    for (const ChunkPages& filled : hold.filled) filled.chunk->current.set(filled.pages);
    return;
  }
  if (!few_filled_runs(result)) return;
  each_filled_run(result, [&](Span run) {
    written_.clear();
    if (!watched_.scan(run, true, written_)) return;
    unasked_ = true;
    shadow_.each_chunk(run, [](Chunk& chunk, std::size_t first, std::size_t last) { chunk.current.set(first, last); });
  });
}

void Coherence::prepare_finish(Hold& hold) {
  const std::lock_guard lock(mutex_);
  hold.filled.clear();
  each_filled_run(hold.call.result(), [&](Span run) {
    shadow_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
      if (hold.filled.empty() || hold.filled.back().chunk != &chunk) hold.filled.push_back({&chunk});
      hold.filled.back().pages.set(first, last);
    });
  });
}

void Coherence::finish(Hold& hold, Return how) {
  loaded(hold, how != Return::failed);
  {
    const std::lock_guard lock(mutex_);
    settle_result(hold, how);
    count_writer(hold.call.result(), -1);
    release_pin(hold);
    shadow_.unhold(hold.backings);
    for (const blas::Operand& operand : hold.call.operands()) rewrites_.used(operand);
    hold.backings.clear();
  }
  changed_.notify_all();
}

}  // namespace blastoff::residency::mirror
