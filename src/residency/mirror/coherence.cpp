#include "residency/mirror/coherence.h"

#include <algorithm>
#include <utility>

#include "platform/contained.h"
#include "platform/interval_set.h"
#include "platform/log.h"
#include "platform/own_stack.h"
#include "residency/footprint.h"
#include "residency/matrices_read.h"
#include "tracking/dma_writer.h"

namespace blastoff::residency::mirror {

namespace {

using device::Error;
using device::ErrorKind;
using platform::Span;

using ledger::everything;

// Device memory comes in chunks. A small matrix on the stack of a thread, which may end soon, is cheaper to copy than
// to give a chunk of its own.
constexpr std::size_t small_on_stack = chunk_bytes / 16;

bool not_worth_a_chunk(const operation::Operand& operand) {
  return !operand.empty() && operand.intent != operation::Intent::scratch && operand.span_bytes() <= small_on_stack &&
         platform::on_own_stack(bounds(operand));
}

void end_arrival(ledger::Copy& copy, std::size_t first, std::size_t last) {
  copy.end_arrival(first, last);
}

void keep_writers(Chunk& chunk) {
  if (!chunk.writers) chunk.writers = std::make_unique<std::uint16_t[]>(max_pages_per_chunk);
}

}  // namespace

Coherence::Coherence(device::Device& device, ledger::Ledger& ledger, std::shared_ptr<Pins> pins,
                     std::shared_ptr<device::DirectCopies> direct_copies, std::size_t max_copied,
                     TrackingHeuristic::Fingerprint fingerprint, Results results)
    : device_(device),
      max_copied_(max_copied),
      results_(results),
      place_(ledger),
      running_(device),
      mirrors_(device, place_, running_, mutex_, changed_),
      pins_(std::move(pins)),
      direct_copies_(std::move(direct_copies)),
      heuristic_(max_copied, std::move(fingerprint)) {
  if (direct_copies_) direct_copies_->join(place_.number(), device_);
  if (results_ == Results::home || !place_.may_leave()) return;
  auto source = MirrorSource::create(device_, running_);
  if (!source) return;
  source_ = std::move(*source);
  place_.read_from(source_.get());
}

Coherence::~Coherence() {
  place_.bring_home(everything);
  place_.read_from(nullptr);
  if (direct_copies_) direct_copies_->forget(device_);
  pins_->release_of(device_);
}

void Coherence::apply_events() {
  events_.clear();
  bool heard = false;
  const bool applied = platform::contained([&] {
    heard = place_.drain(events_);
    note_touched();
    for (const tracking::MemoryEvent& event : events_) {
      mirrors_.forget(event.span);
      pins_->forget(event.span);
      heuristic_.forget(event.span);
      stays_.forget(event.span);
    }
  });
  if (applied && heard) return;
  mirrors_.forget(everything);
  pins_->forget({0, UINTPTR_MAX});
  platform::contained([&] { heuristic_.forget({0, UINTPTR_MAX}); });
}

/// Has the driver unmap and unlock what has ended under the lock, which is given back.
void Coherence::give_back_ended(std::unique_lock<std::mutex>& lock) {
  mirrors_.unmap_evicted();
  lock.unlock();
  pins_->unlock_ended();
}

bool Coherence::tidy(double seconds) {
  for (;;) {
    std::unique_lock lock(mutex_);
    apply_events();
    const bool released = mirrors_.release_dead(seconds);
    const bool any_dead = mirrors_.any_dead();
    give_back_ended(lock);
    if (!released) return any_dead;
  }
}

std::optional<std::vector<std::uint64_t>> Coherence::used_once() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  apply_events();
  auto kinds = heuristic_.used_once();
  give_back_ended(lock);
  return kinds;
}

void Coherence::expect_used_once(std::span<const std::uint64_t> kinds) {
  const std::lock_guard lock(mutex_);
  heuristic_.expect_used_once(kinds);
}

void Coherence::release_mirrors() {
  std::unique_lock lock(mutex_);
  pins_->release();
  mirrors_.release_idle();
  give_back_ended(lock);
}

void Coherence::survey_run(Survey& survey, Span run, bool read, bool scribbled, Validity& validity) {
  const bool backed = mirrors_.each_backing(run, [&](Backing& backing) {
    if (survey.backings.empty() || survey.backings.back() != &backing) survey.backings.push_back(&backing);
    if (!backing.made) survey.conflict = true;
  });
  if (!backed) survey.needs_memory = true;
  const std::size_t page = platform::page_size();
  mirrors_.each_part(run, [&](Chunk& chunk, Span pages) {
    if (scribbled) keep_writers(chunk);
    const PageNumbers numbers = page_numbers(pages);
    if (chunk.copy->arriving.any(numbers.first, numbers.last)) survey.conflict = true;
    if (!read || !chunk.writers || validity.known(chunk, pages)) return;
    for (std::uintptr_t at = pages.begin; at < pages.end; at += page) {
      const Span one{at, at + page};
      if (chunk.writers[page_numbers(one).first] > 0 && !validity.on_page(*chunk.copy, one)) survey.conflict = true;
    }
  });
}

Coherence::Survey Coherence::survey(const PageAcquisition& acquisition) {
  Survey result;
  each_mirrored(acquisition, [&](std::size_t i, const operation::Operand& operand) {
    if (!mirrors_.placed(platform::outward_to_pages(bounds(operand)))) result.needs_memory = true;
    const bool scribbled = scribbles(operand.intent);
    const bool read = operation::reads(operand.intent);
    Validity validity(operand, acquisition.tracked[i]);
    each_covered_run(operand, [&](Span run) { survey_run(result, run, read, scribbled, validity); });
  });
  return result;
}

// Others wait for what is being mapped; while the driver does so, the lock is given back.
device::Status Coherence::back(PageAcquisition& acquisition) {
  operation::Operand largest;
  each_mirrored(acquisition, [&](std::size_t, const operation::Operand& operand) {
    if (operand.payload_bytes() > largest.payload_bytes()) largest = operand;
  });
  const std::uintptr_t aligned = bounds(largest).begin;
  device::Status placed;
  std::vector<Span> runs;
  each_mirrored(acquisition, [&](std::size_t, const operation::Operand& operand) {
    if (placed) placed = mirrors_.place(platform::outward_to_pages(bounds(operand)), aligned);
    each_covered_run(operand, [&](Span run) { runs.push_back(run); });
  });
  if (!placed) return placed;
  auto backed = mirrors_.back(runs, aligned);
  changed_.notify_all();
  if (!backed) return tl::unexpected(backed.error());
  acquisition.backings = std::move(*backed);
  return {};
}

// Device memory in the mirror of a large matrix. That of its neighbours may reach a little into it.
bool Coherence::has_memory(const operation::Operand& operand) const {
  Span pages = platform::outward_to_pages(bounds(operand));
  if (pages.bytes() > 4 * chunk_bytes) pages = {pages.begin + chunk_bytes, pages.end - chunk_bytes};
  return mirrors_.any_backed(pages);
}

// A large matrix that has device memory in its mirror goes there, and is not current afterwards.
bool Coherence::may_copy(const PageAcquisition& acquisition, const operation::Operand& operand) const {
  if (acquisition.may_copy == Copied::none || operand.empty() || operand.intent == operation::Intent::scratch)
    return false;
  return operand.payload_bytes() <= max_copied_ || (acquisition.may_copy == Copied::any && !has_memory(operand));
}

void Coherence::choose_copied(PageAcquisition& acquisition) const {
  const auto operands = acquisition.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    acquisition.copied[i] = !acquisition.tracked[i] && may_copy(acquisition, operands[i]);
}

// Whether nearly all that the call reads is to be copied: then the copies may go on while the device computes, and the
// little that is left is not worth mirrors. Small calls have pieces of device memory at hand either way. A result can
// stay in a mirror only.
bool Coherence::goes_past_mirrors(const PageAcquisition& acquisition) const {
  constexpr std::size_t worth_copies = std::size_t{1} << 20;
  constexpr std::size_t times_the_rest = 4;
  if (acquisition.may_copy != Copied::any || acquisition.call.cutting == operation::Cutting::none) return false;
  if (std::ranges::find(acquisition.stays, true) != acquisition.stays.end()) return false;
  std::size_t copied = 0;
  std::size_t kept = 0;
  bool watched = true;
  each_matrix(acquisition.call, [&](std::size_t i, std::size_t first) {
    const operation::Operand& operand = acquisition.call.operands()[i];
    watched = watched && !acquisition.unwatched[i];
    if (i == first && operation::reads(operand.intent))
      (acquisition.tracked[i] ? kept : copied) += operand.payload_bytes();
  });
  return watched && copied >= worth_copies && copied >= times_the_rest * kept;
}

// From here on the bytes count as current for all calls, as soon as they have arrived. Operands that are not tracked do
// not become current.
void Coherence::claim_uploads(PageAcquisition& acquisition) {
  each_mirrored(acquisition, [&](std::size_t i, const operation::Operand& operand) {
    if (!operation::reads(operand.intent)) return;
    Validity validity(operand, acquisition.tracked[i]);
    std::uint64_t bytes = 0;
    const std::size_t first_own = acquisition.uploads.size();
    examined_.begin();
    each_covered_run(operand, [&](Span run) {
      mirrors_.each_part(
          run, [&](Chunk& chunk, Span pages) { bytes += claim_part(acquisition, first_own, chunk, pages, validity); });
    });
    examined_.end(operand);
    acquisition.found[i] = operand.payload_bytes() - std::min<std::uint64_t>(bytes, operand.payload_bytes());
    if (reads_matrix(acquisition.call.operands(), i)) acquisition.bytes_reused += acquisition.found[i];
  });
  acquisition.loading = !acquisition.uploads.empty();
}

// Returns the bytes to upload. If this call already uploads the page for another operand, that upload also brings the
// bytes of this operand. `first_own`: the operand's first upload.
std::uint64_t Coherence::claim_part(PageAcquisition& acquisition, std::size_t first_own, Chunk& chunk, Span pages,
                                    Validity& validity) {
  if (validity.known(chunk, pages)) return 0;
  if (validity.tracked()) examined_.add(chunk);
  const std::size_t page = platform::page_size();
  std::uint64_t bytes = 0;
  ledger::Copy& copy = *chunk.copy;
  const auto lock = copy.lock();
  for (std::uintptr_t at = pages.begin; at < pages.end; at += page) {
    const Span one{at, at + page};
    if (validity.on_page(copy, one)) continue;
    const std::size_t number = page_numbers(one).first;
    const bool fresh =
        !copy.current.test(number) && std::ranges::none_of(untracked_, [&](Span span) { return span.overlaps(one); });
    if (validity.tracked()) make_current(chunk, one, validity.operand());
    if (copy.arriving.test(number)) continue;
    const device::Address address = mirrors_.device_address(at);
    PageAcquisition::Upload* const before =
        acquisition.uploads.size() > first_own ? &acquisition.uploads.back() : nullptr;
    if (before && before->fresh == fresh && before->run.end == at && before->device + before->run.bytes() == address)
      before->run.end += page;
    else
      acquisition.uploads.push_back({one, address, fresh, validity.tracked()});
    copy.arriving.set(number, number + 1);
    bytes += page;
  }
  return bytes;
}

void Coherence::count_writer(const PageAcquisition& acquisition, int change) {
  each_mirrored(acquisition, [&](std::size_t, const operation::Operand& operand) {
    if (!scribbles(operand.intent)) return;
    each_covered_run(operand, [&](Span run) {
      mirrors_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        for (std::size_t page = first; page < last; ++page)
          chunk.writers[page] = static_cast<std::uint16_t>(chunk.writers[page] + change);
      });
    });
  });
}

// Asking the kernel takes long, so no lock is held.
std::optional<std::string> Coherence::dma_writer() {
  if (place_.tracker().is_told() || (!place_.foreign() && !place_.unasked())) return std::nullopt;
  const std::uint64_t findings = place_.findings();
  auto writer = tracking::dma_writer(pins_->others_pin());
  if (place_.answer(findings, writer.has_value()))
    platform::log_line("%s; until this ends, matrices are copied at every call", writer->c_str());
  return writer;
}

device::Result<PageAcquisition> Coherence::acquire(const operation::Operation& call, Copied may_copy) {
  const auto operands = call.operands();
  if (std::any_of(operands.begin(), operands.end(), not_worth_a_chunk))
    return tl::unexpected(Error{ErrorKind::unsupported, "a small matrix on a thread's stack"});
  PageAcquisition acquisition;
  acquisition.call = call;
  acquisition.may_copy = may_copy;
  if (!platform::contained([&] { choose_staying(acquisition); })) return tl::unexpected(device::no_host_memory());
  if (const auto writer = dma_writer()) return tl::unexpected(Error{ErrorKind::unsupported, *writer});
  find_registered(acquisition);
  std::unique_lock lock(mutex_);
  apply_events();
  device::Status held = tl::unexpected(device::no_host_memory());
  const bool complete = platform::contained([&] { held = hold_pages(acquisition, lock); });
  if (complete && held) {
    if (!acquisition.past_mirrors) ++in_flight_;
    if (platform::contained([&] { drop_pins_not_to_be_used(acquisition, lock); })) return acquisition;
    if (lock) lock.unlock();
    abandon(acquisition);
    return tl::unexpected(device::no_host_memory());
  }
  if (!lock) lock.lock();
  if (!complete) let_go(acquisition);
  release_pins_of(acquisition);
  give_back_ended(lock);
  return tl::unexpected(std::move(held.error()));
}

// An exception has ended hold_pages(). What the call would have brought never comes.
void Coherence::let_go(PageAcquisition& acquisition) {
  for (const PageAcquisition::Upload& upload : acquisition.uploads) mirrors_.change(upload.run, end_arrival);
  acquisition.uploads.clear();
  place_.take(everything);
  mirrors_.unhold(acquisition.backings);
  acquisition.backings.clear();
  changed_.notify_all();
}

device::Status Coherence::hold_pages(PageAcquisition& acquisition, std::unique_lock<std::mutex>& lock) {
  const operation::Operation& call = acquisition.call;
  each_matrix(call, [&](std::size_t i, std::size_t first) {
    const operation::Operand& operand = call.operands()[i];
    const bool reads = operation::reads(operand.intent);
    const bool is_or_is_to_stay = reads ? mostly_left(operand) : acquisition.stays[i] || acquisition.probes[i];
    acquisition.tracked[i] =
        i == first ? is_or_is_to_stay || heuristic_.worth_tracking(call, i) : acquisition.tracked[first];
    if (i == first && !acquisition.tracked[i] && reads && heuristic_.refilled(operand))
      acquisition.bytes_rewritten += operand.payload_bytes();
  });

  if (goes_past_mirrors(acquisition)) {
    go_past_mirrors(acquisition);
    return {};
  }
  constexpr int max_replacements = 8;
  bool pins_asked_for = false;
  for (int replaced = 0;;) {
    if (auto usable = check_memory(acquisition); !usable) return tl::unexpected(usable.error());
    if (!std::exchange(pins_asked_for, true)) take_pins(acquisition, lock);
    const auto intact = protect(acquisition, lock);
    if (!intact) return tl::unexpected(intact.error());
    if (!*intact) {
      if (++replaced == max_replacements)
        return tl::unexpected(Error{ErrorKind::unsupported, "memory that is replaced during the call"});
      continue;
    }
    if (goes_past_mirrors(acquisition)) {
      go_past_mirrors(acquisition);
      release_pins_of(acquisition);
      return {};
    }
    choose_copied(acquisition);
    for (std::size_t i = 0; i < call.operands().size(); ++i)
      acquisition.stays[i] = acquisition.stays[i] && acquisition.tracked[i] && !acquisition.copied[i];
    Survey found = survey(acquisition);
    if (found.needs_memory && !found.conflict) {
      if (auto backed = back(acquisition); !backed) return backed;
      found = survey(acquisition);
    } else if (!found.conflict) {
      acquisition.backings = found.backings;
      for (Backing* backing : acquisition.backings) mirrors_.hold(*backing);
    }
    if (found.conflict) {
      mirrors_.let_go(std::exchange(acquisition.backings, {}));
      if (!mirrors_.unmap_evicted()) changed_.wait(lock);  // some of that may be in the way
      apply_events();
      continue;
    }
    each_mirrored(acquisition, [&](std::size_t i, const operation::Operand& operand) {
      acquisition.addresses[i] = mirrors_.device_address(bounds(operand).begin);
    });
    untracked_.reserve(untracked_.size() + operation::Operation::max_operands);
    claim_uploads(acquisition);
    count_writer(acquisition, +1);
    each_untracked(acquisition, [&](Span pages) { untracked_.push_back(pages); });
    each_mirrored(acquisition, [&](std::size_t, const operation::Operand& operand) {
      if (scribbles(operand.intent) && operation::reads(operand.intent) &&
          place_.any_left(platform::outward_to_pages(bounds(operand))))
        acquisition.updates_only_copy = true;
    });
    return {};
  }
}

/// Whether it would have to come home before it can be copied from host memory.
bool Coherence::mostly_left(const operation::Operand& operand) const {
  return !operand.empty() &&
         2 * place_.bytes_left(platform::outward_to_pages(bounds(operand))) >= operand.payload_bytes();
}

void Coherence::loaded(PageAcquisition& acquisition, bool arrived) {
  if (!acquisition.loading) return;
  {
    const std::lock_guard lock(mutex_);
    for (const PageAcquisition::Upload& upload : acquisition.uploads) {
      mirrors_.change(upload.run, [&](ledger::Copy& copy, std::size_t first, std::size_t last) {
        copy.end_arrival(first, last);
        if (!arrived) copy.current.clear(first, last);
      });
    }
    acquisition.loading = false;
  }
  changed_.notify_all();
}

void Coherence::share(PageAcquisition& acquisition, const platform::IntervalSet& others) {
  platform::IntervalSet filled;
  each_distinct_matrix(acquisition.call, [&](std::size_t, const operation::Operand& matrix) {
    if (matrix.intent == operation::Intent::read) each_filled_run(matrix, [&](Span run) { filled.add(run); });
  });
  std::vector<PageAcquisition::Upload> rest;
  for (const PageAcquisition::Upload& upload : acquisition.uploads)
    others.each_common(upload.run, [&](Span run) {
      rest.push_back({run, upload.device + (run.begin - upload.run.begin), upload.fresh, upload.tracked});
    });
  {
    const std::lock_guard lock(mutex_);
    for (const PageAcquisition::Upload& upload : acquisition.uploads)
      others.each_gap(upload.run, [&](Span run) {
        filled.each_common(run, [&](Span steady) {
          mirrors_.change(
              steady, [](ledger::Copy& copy, std::size_t first, std::size_t last) { copy.steady.set(first, last); });
        });
        mirrors_.change(run, end_arrival);
      });
    acquisition.uploads = std::move(rest);
    acquisition.loading = !acquisition.uploads.empty();
  }
  changed_.notify_all();
}

// What another device holds may be out of date if a writer that nobody has asked about bypasses the page table. Nobody
// has looked either whether pages that are not tracked have been written since they became current there.
ledger::Loan Coherence::who_else_has(const PageAcquisition& acquisition, const std::vector<Span>& pages, bool tracked) {
  if (dma_writer()) return {};
  const ledger::States::Covers covers = [&](const ledger::Copy& copy, Span page) {
    return std::ranges::all_of(acquisition.call.operands(), [&](const operation::Operand& operand) {
      return operand.empty() || !operation::reads(operand.intent) || Validity(operand, true).on_page(copy, page);
    });
  };
  return place_.who_has(pages, direct_copies_->reached_by(device_), tracked ? covers : nullptr);
}

void Coherence::await_arrival(const ledger::Place& there, Span pages, std::chrono::steady_clock::time_point until) {
  if (std::ranges::count(direct_copies_->reached_by(device_), there.number()) > 0)
    place_.await_arrival(there.number(), pages, until);
}

/// Calls visit(pages) for the mirrored operands that the call reads and that are not tracked.
template <class Visit>
void Coherence::each_untracked(const PageAcquisition& acquisition, Visit&& visit) {
  each_mirrored(acquisition, [&](std::size_t i, const operation::Operand& operand) {
    if (!acquisition.tracked[i] && operation::reads(operand.intent)) visit(platform::outward_to_pages(bounds(operand)));
  });
}

// Others may not take from a device that may have been lost.
void Coherence::forget_uses(const PageAcquisition& acquisition, bool home) {
  each_untracked(acquisition, [&](Span pages) {
    if (const auto found = std::ranges::find(untracked_, pages); found != untracked_.end()) untracked_.erase(found);
  });
  if (home) return;
  each_mirrored(acquisition, [&](std::size_t, const operation::Operand& operand) {
    place_.end_steady(platform::outward_to_pages(bounds(operand)));
  });
}

void Coherence::learn_bringing(std::size_t bytes, double seconds) {
  if (bytes < TrackingHeuristic::tells_rate) return;
  const std::lock_guard lock(mutex_);
  heuristic_.learn_bringing(bytes, seconds);
}

void Coherence::stage_all(PageAcquisition& acquisition) {
  std::unique_lock lock(mutex_);
  release_pins_of(acquisition);
  give_back_ended(lock);
}

}  // namespace blastoff::residency::mirror
