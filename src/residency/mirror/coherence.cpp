#include "residency/mirror/coherence.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "platform/log.h"
#include "platform/memory_map.h"
#include "platform/own_stack.h"
#include "residency/footprint.h"
#include "tracking/foreign_writer.h"

namespace blastoff::residency::mirror {

namespace {

using device::Error;
using device::ErrorKind;
using platform::Span;

// Operands larger than this are examined before the lock is taken, since asking the kernel about them takes long.
constexpr std::size_t large_look = std::size_t{8} << 20;

// Up to this many runs of written pages are protected one by one. For more, one call about all pages costs less.
constexpr std::size_t most_looks = 32;

constexpr Span everything = {0, ~std::uintptr_t{chunk_bytes - 1}};

// Where the kernel cannot be asked about single mappings, reading the list of all mappings takes as long as the CPU
// takes to copy a few megabytes.
constexpr std::size_t worth_reading_mappings = std::size_t{4} << 20;

std::vector<Span> regions_of(const operation::Operand& operand) {
  std::vector<Span> regions;
  each_region(operand, [&](Span region) { regions.push_back(region); });
  return regions;
}

// Whether examining the operand takes long enough to do it without the lock.
bool takes_long(const operation::Operand& operand) {
  return operand.span_bytes() > large_look && (!has_wide_gaps(operand) || region_bytes(operand) > large_look);
}

tl::unexpected<Error> cannot_be_watched(const Hold& hold) {
  return tl::unexpected(Error{ErrorKind::unsupported, hold.copied_because});
}

tl::unexpected<Error> registered() {
  return tl::unexpected(Error{ErrorKind::unsupported, "memory that the program itself shares with the device"});
}

// Device memory comes in chunks. A small matrix on the stack of a thread, which may end soon, is cheaper to copy than
// to give a chunk of its own.
constexpr std::size_t small_on_stack = chunk_bytes / 16;

bool not_worth_a_chunk(const operation::Operand& operand) {
  return !operand.empty() && operand.intent != operation::Intent::scratch && operand.span_bytes() <= small_on_stack &&
         platform::on_own_stack(bounds(operand));
}

// Calls visit(pages) for some of the runs of pages that hold the operand, spread over all of it. The runs are chunks
// or, if whole pages lie between the columns, columns.
template <class Visit>
void each_sample(const operation::Operand& operand, Visit&& visit) {
  constexpr std::size_t most_samples = 64;
  const Span whole = bounds(operand);
  const bool by_columns =
      operand.columns > 1 && operand.stride_bytes() - operand.column_bytes() >= platform::page_size();
  const std::size_t step = by_columns ? operand.stride_bytes() : chunk_bytes;
  const std::size_t length = by_columns ? operand.column_bytes() : chunk_bytes;
  const std::size_t pieces = by_columns ? static_cast<std::size_t>(operand.columns) : (whole.bytes() - 1) / step + 1;
  const std::size_t samples = std::min(pieces, most_samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::uintptr_t begin = whole.begin + i * pieces / samples * step;
    visit(platform::outward_to_pages({begin, std::min(begin + length, whole.end)}));
  }
}

// A matrix is not worth pinning as a whole if most of the memory between its first and last byte belongs to other data.
// Wide gaps are not watched: other memory may come to lie there unseen.
bool dense_enough_to_pin(const operation::Operand& operand) {
  return !has_wide_gaps(operand) && operand.span_bytes() <= 4 * operand.payload_bytes();
}

}  // namespace

Coherence::Coherence(device::Device& device, tracking::PageTracker& tracker, std::shared_ptr<Pins> pins,
                     std::size_t most_copied, Usage::Fingerprint fingerprint)
    : device_(device),
      most_copied_(most_copied),
      watched_(tracker),
      mirrors_(device),
      pins_(std::move(pins)),
      usage_(most_copied, std::move(fingerprint)) {}

void Coherence::apply_events() {
  events_.clear();
  if (!watched_.drain(events_)) {
    mirrors_.invalidate(everything);
    pins_->forget({0, UINTPTR_MAX});
    usage_.forget({0, UINTPTR_MAX});
    return;
  }
  for (const tracking::MemoryEvent& event : events_) {
    mirrors_.invalidate(event.span);
    pins_->forget(event.span);
    usage_.forget(event.span);
  }
}

void Coherence::tidy() {
  const std::lock_guard lock(mutex_);
  apply_events();
}

void Coherence::release_mirrors() {
  const std::lock_guard lock(mutex_);
  pins_->release();
  mirrors_.release_idle();
}

bool Coherence::release_pins() {
  constexpr int most_attempts = 2'000;
  for (int i = 0; i < most_attempts; ++i) {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
      pins_->release();
      return pins_->empty();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return false;
}

// Scratch memory is used only for its addresses on the device, and its contents are never taken as current.
tl::expected<void, std::string> Coherence::watch(const operation::Operand& operand) {
  tl::expected<void, std::string> watched;
  each_region(operand, [&](Span region) {
    if (watched) watched = watched_.watch(region);
  });
  return watched;
}

// An operand in memory that cannot be watched is copied, as long as others keep their mirrors.
device::Status Coherence::check_memory(Hold& hold) {
  const auto operands = hold.call.operands();
  bool any_watched = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (operand.empty() || operand.intent == operation::Intent::scratch) continue;
    if (auto watched = watch(operand); !watched) {
      hold.copied_because = watched.error();
      if (!hold.may_copy || operand.payload_bytes() > most_copied_) return cannot_be_watched(hold);
      copy_unwatched(hold, i);
      continue;
    }
    any_watched = true;
    const Span whole = bounds(operand);
    if (registered_by_program({whole.begin, whole.begin + 1}) || registered_by_program({whole.end - 1, whole.end}))
      return registered();
  }
  return any_watched || hold.copied_because.empty() ? device::Status{} : cannot_be_watched(hold);
}

void Coherence::copy_unwatched(Hold& hold, std::size_t index) {
  const operation::Operand& operand = hold.call.operands()[index];
  hold.unwatched[index] = true;
  if (!std::exchange(hold.tracked[index], false)) return;
  lose(operand);  // it may have been watched before
  usage_.not_trackable(operand);
}

bool Coherence::registered_by_program(Span span) {
  return pins_->registered_by_program(device_, span);
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

// Finds the runs of pages that are to be protected: all of a small operand, and the pages of a large one that a scan
// without the lock finds written. If another thread's protecting scan takes some of these pages first, that thread
// applies them before it releases the lock that we take next, so nothing is lost. False: watched memory was replaced.
bool Coherence::look(const Hold& hold, std::unique_lock<std::mutex>& lock, Runs& written) {
  bool large = false;
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    written[i].clear();
    if (!hold.tracked[i] || operands[i].empty()) continue;
    if (takes_long(operands[i]))
      large = true;
    else
      written[i] = regions_of(operands[i]);
  }
  if (!large) return true;
  lock.unlock();
  const operation::Operand* replaced = look_unlocked(hold, written);
  lock.lock();
  apply_events();
  if (replaced) lose(*replaced);
  return replaced == nullptr;
}

// Returns an operand whose memory was replaced; nullptr if there is none.
const operation::Operand* Coherence::look_unlocked(const Hold& hold, Runs& written) {
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!hold.tracked[i] || operands[i].empty() || !takes_long(operands[i])) continue;
    bool intact = true;
    each_region(operands[i], [&](Span region) { intact = intact && watched_.scan(region, false, written[i]); });
    if (!intact) return &operands[i];
    if (written[i].size() > most_looks) written[i] = regions_of(operands[i]);
  }
  return nullptr;
}

// Forgets everything about the operand's memory, which has gone without an event. Its pinned pages may have moved
// elsewhere.
void Coherence::lose(const operation::Operand& operand) {
  each_region(operand, [&](Span region) {
    watched_.forget(region);
    mirrors_.invalidate(region);
    pins_->forget(region);
    usage_.forget(region);
  });
}

// Protects the pages. Pages written since they were last protected are no longer current. False: memory was replaced.
device::Result<bool> Coherence::protect(Hold& hold, const Runs& runs) {
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    written_.clear();
    const bool intact =
        std::all_of(runs[i].begin(), runs[i].end(), [&](Span run) { return watched_.scan(run, true, written_); });
    if (!intact) {
      lose(operands[i]);
      return false;
    }
    if (!written_.empty()) unasked_ = true;
    std::size_t lost = 0;
    for (const Span run : written_) {
      mirrors_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        lost += chunk.current.count(first, last);
        chunk.current.clear(first, last);
      });
    }
    if (any_registered(written_)) {
      stop_tracking(operands[i]);  // so that the next scan finds the pages written, and they are asked about again
      return registered();
    }
    if (lost > 0 && operation::reads(operands[i].intent))
      hold.bytes_rewritten += std::min<std::uint64_t>(lost * platform::page_size(), operands[i].payload_bytes());
    if (lost > 0 && usage_.rewritten(operands[i], lost, region_bytes(operands[i]) / platform::page_size())) {
      hold.tracked[i] = false;
      stop_tracking(operands[i]);
    }
  }
  return true;
}

void Coherence::stop_tracking(const operation::Operand& operand) {
  each_region(operand, [&](Span region) {
    watched_.unprotect(region);
    mirrors_.invalidate(region);
  });
}

void Coherence::survey_run(Survey& survey, Span run, bool read, Currency& currency) {
  const bool backed = mirrors_.each_backing(run, [&](Backing& backing) {
    if (survey.backings.empty() || survey.backings.back() != &backing) survey.backings.push_back(&backing);
  });
  if (!backed) survey.needs_memory = true;
  const std::size_t page = platform::page_size();
  mirrors_.each_part(run, [&](Chunk& chunk, Span pages) {
    const PageNumbers numbers = page_numbers(pages);
    if (chunk.loading.any(numbers.first, numbers.last)) survey.conflict = true;
    if (!read || !chunk.writers || currency.known(chunk, pages)) return;
    for (std::uintptr_t at = pages.begin; at < pages.end; at += page) {
      const Span one{at, at + page};
      if (chunk.writers[page_numbers(one).first] > 0 && !currency.on_page(chunk, one)) survey.conflict = true;
    }
  });
}

Coherence::Survey Coherence::survey(const Hold& hold) {
  Survey result;
  each_mirrored(hold, [&](std::size_t i, const operation::Operand& operand) {
    if (!mirrors_.placed(platform::outward_to_pages(bounds(operand)))) result.needs_memory = true;
    const bool read = operation::reads(operand.intent);
    Currency currency(operand, hold.tracked[i]);
    each_covered_run(operand, [&](Span run) { survey_run(result, run, read, currency); });
  });
  return result;
}

device::Status Coherence::back(Hold& hold, const Survey& found) {
  if (!found.needs_memory) {
    hold.backings = found.backings;
    for (Backing* backing : hold.backings) ++backing->holds;
    return {};
  }
  operation::Operand largest;
  each_mirrored(hold, [&](std::size_t, const operation::Operand& operand) {
    if (operand.payload_bytes() > largest.payload_bytes()) largest = operand;
  });
  const std::uintptr_t aligned = bounds(largest).begin;
  device::Status placed;
  std::vector<Span> runs;
  each_mirrored(hold, [&](std::size_t, const operation::Operand& operand) {
    if (placed) placed = mirrors_.place(platform::outward_to_pages(bounds(operand)), aligned);
    each_covered_run(operand, [&](Span run) { runs.push_back(run); });
  });
  if (!placed) return placed;
  auto backed = mirrors_.back(runs, aligned);
  if (!backed) return tl::unexpected(backed.error());
  hold.backings = std::move(*backed);
  return {};
}

// A matrix that is too large for a buffer of the call's own goes through its mirror, and is not current there
// afterwards.
void Coherence::choose_copied(Hold& hold) const {
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    hold.copied[i] = hold.may_copy && !hold.tracked[i] && !operands[i].empty() &&
                     operands[i].intent != operation::Intent::scratch && operands[i].payload_bytes() <= most_copied_;
}

// From here on the bytes count as current for all calls, as soon as they have arrived. Operands that are not tracked do
// not become current.
void Coherence::claim_uploads(Hold& hold) {
  each_mirrored(hold, [&](std::size_t i, const operation::Operand& operand) {
    if (!operation::reads(operand.intent)) return;
    Currency currency(operand, hold.tracked[i]);
    std::uint64_t bytes = 0;
    examined_.begin();
    each_covered_run(operand, [&](Span run) {
      mirrors_.each_part(run, [&](Chunk& chunk, Span pages) { bytes += claim_part(hold, chunk, pages, currency); });
    });
    examined_.end(operand);
    hold.bytes_reused += operand.payload_bytes() > bytes ? operand.payload_bytes() - bytes : 0;
  });
  hold.loading = !hold.uploads.empty();
}

// Returns the bytes to upload. If this call already uploads the page for another operand, that upload also brings the
// bytes of this operand.
std::uint64_t Coherence::claim_part(Hold& hold, Chunk& chunk, Span pages, Currency& currency) {
  if (currency.known(chunk, pages)) return 0;
  if (currency.tracked()) examined_.add(chunk);
  const std::size_t page = platform::page_size();
  std::uint64_t bytes = 0;
  for (std::uintptr_t at = pages.begin; at < pages.end; at += page) {
    const Span one{at, at + page};
    if (currency.on_page(chunk, one)) continue;
    if (currency.tracked()) make_current(mirrors_, chunk, one, currency.operand());
    const std::size_t number = page_numbers(one).first;
    if (chunk.loading.test(number)) continue;
    chunk.loading.set(number, number + 1);
    bytes += page;
    const device::Address address = mirrors_.device_address(at);
    Hold::Upload* const before = hold.uploads.empty() ? nullptr : &hold.uploads.back();
    if (before && before->run.end == at && before->device + before->run.bytes() == address)
      before->run.end += page;
    else
      hold.uploads.push_back({one, address});
  }
  return bytes;
}

void Coherence::count_writer(const Hold& hold, int change) {
  each_mirrored(hold, [&](std::size_t, const operation::Operand& operand) {
    if (!scribbles(operand.intent)) return;
    each_covered_run(operand, [&](Span run) {
      mirrors_.each_chunk(run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        std::uint16_t* writers = mirrors_.writers(chunk);
        for (std::size_t page = first; page < last; ++page)
          writers[page] = static_cast<std::uint16_t>(writers[page] + change);
      });
    });
  });
}

// Called before the pages are protected, because otherwise the pinning would look like a write by the program at their
// next use. That holds for each device that comes to use the pin. Results are pinned, and what is copied at every use.
void Coherence::take_pins(Hold& hold) {
  if (!watched_.allows_pinning()) return;
  const auto operands = hold.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    const bool moves = operation::writes(operand.intent) || (operation::reads(operand.intent) && !hold.tracked[i]);
    if (operand.empty() || !moves || hold.unwatched[i] || !dense_enough_to_pin(operand)) continue;
    bool met = false;
    hold.pins[i] = pins_->hold(device_, bounds(operand), met);
    if (met) mirrors_.invalidate(hold.pins[i]->span);
  }
}

// Whether the memory that is watched still lies at the operand's addresses.
bool Coherence::is_what_is_watched(const operation::Operand& operand) {
  std::vector<Span> written;
  bool intact = true;
  each_region(operand, [&](Span region) { intact = intact && watched_.scan(region, false, written); });
  return intact;
}

// The device reads and writes the pinned pages, even if other memory lies at their addresses by now. Examining a
// tracked operand has found that out; for others this is done here. If the program may not write to a result now, the
// CPU must do the copy, so that it fails as it would without Blastoff. Asking the kernel takes long, so the lock is
// given back. The pins do not end meanwhile.
void Coherence::drop_pins_not_to_be_used(Hold& hold, std::unique_lock<std::mutex>& lock) {
  const auto operands = hold.call.operands();
  lock.unlock();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const operation::Operand& operand = operands[i];
    if (!hold.pins[i]) continue;
    const bool lost = !hold.tracked[i] && !is_what_is_watched(operand);
    const bool usable =
        !lost && !hold.pins[i]->gone &&
        (!operation::writes(operand.intent) ||
         platform::writable(bounds(operand), operand.payload_bytes() >= worth_reading_mappings).value_or(false));
    if (usable) continue;
    lock.lock();
    if (lost) lose(operand);
    release_pin(hold, i);
    lock.unlock();
  }
}

void Coherence::release_pin(Hold& hold, std::size_t operand) {
  if (Pins::Pin* const pin = std::exchange(hold.pins[operand], nullptr)) pins_->unhold(pin);
}

void Coherence::release_pins_of(Hold& hold) {
  for (std::size_t i = 0; i < hold.pins.size(); ++i) release_pin(hold, i);
}

// Nothing is known about what such a writer wrote before it was found, or until it went.
std::optional<std::string> Coherence::foreign_writer() {
  unasked_ = false;
  auto writer = tracking::foreign_writer(pins_->counted_kilobytes());
  if (writer || foreign_) mirrors_.invalidate(everything);
  if (writer && !foreign_)
    platform::log_line("%s; until this ends, matrices are copied at every call", writer->c_str());
  foreign_ = writer.has_value();
  return writer;
}

void Coherence::look_for_foreign_writers() {
  if (!unasked_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (unasked_) foreign_writer();
}

device::Result<Hold> Coherence::hold(const operation::Operation& call, bool may_copy) {
  const auto operands = call.operands();
  if (std::any_of(operands.begin(), operands.end(), not_worth_a_chunk))
    return tl::unexpected(Error{ErrorKind::unsupported, "a small matrix on a thread's stack"});
  Hold hold;
  hold.call = call;
  hold.may_copy = may_copy;
  std::unique_lock lock(mutex_);
  if (foreign_ || unasked_)
    if (const auto writer = foreign_writer()) return tl::unexpected(Error{ErrorKind::unsupported, *writer});
  apply_events();
  auto held = hold_pages(hold, lock);
  if (!held) {
    release_pins_of(hold);
    return tl::unexpected(held.error());
  }
  drop_pins_not_to_be_used(hold, lock);
  return hold;
}

device::Status Coherence::hold_pages(Hold& hold, std::unique_lock<std::mutex>& lock) {
  const operation::Operation& call = hold.call;
  each_matrix(call, [&](std::size_t i, std::size_t first) {
    hold.tracked[i] = i == first ? usage_.worth_tracking(call, i) : hold.tracked[first];
    const operation::Operand& operand = call.operands()[i];
    if (i == first && !hold.tracked[i] && operation::reads(operand.intent) && usage_.refilled(operand))
      hold.bytes_rewritten += operand.payload_bytes();
  });

  constexpr int most_replacements = 8;
  bool pins_asked_for = false;
  Runs written;
  for (int replaced = 0;;) {
    if (auto usable = check_memory(hold); !usable) return tl::unexpected(usable.error());
    if (!std::exchange(pins_asked_for, true)) take_pins(hold);
    const auto intact = look(hold, lock, written) ? protect(hold, written) : false;
    if (!intact) return tl::unexpected(intact.error());
    if (!*intact) {
      if (++replaced == most_replacements)
        return tl::unexpected(Error{ErrorKind::unsupported, "memory that is replaced during the call"});
      continue;
    }
    choose_copied(hold);
    const Survey found = survey(hold);
    if (found.conflict) {
      changed_.wait(lock);
      apply_events();
      continue;
    }
    if (auto backed = back(hold, found); !backed) return backed;
    each_mirrored(hold, [&](std::size_t i, const operation::Operand& operand) {
      hold.addresses[i] = mirrors_.device_address(bounds(operand).begin);
    });
    claim_uploads(hold);
    count_writer(hold, +1);
    return {};
  }
}

double Coherence::current_share(const operation::Operand& operand) const {
  Currency currency(operand, true);
  std::size_t looked_at = 0;
  std::size_t current = 0;
  each_sample(operand, [&](Span pages) {
    looked_at += pages.bytes();
    mirrors_.each_part(pages, [&](Chunk& chunk, Span part) {
      const PageNumbers numbers = page_numbers(part);
      PageBitmap whole = chunk.current;
      whole.clear(chunk.partial);
      current +=
          currency.known(chunk, part) ? part.bytes() : whole.count(numbers.first, numbers.last) * platform::page_size();
    });
  });
  return static_cast<double>(current) / static_cast<double>(looked_at);
}

std::optional<operation::Estimate> Coherence::estimate(const operation::Operation& call) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  operation::Estimate result;
  for (const operation::Operand& operand : call.operands()) {
    if (operand.empty() || operand.transient || !operation::reads(operand.intent)) continue;
    const std::uint64_t bytes = operand.part_bytes();
    if (usage_.copied(operand)) {
      result.dirty += bytes;
      continue;
    }
    const auto resident =
        static_cast<std::uint64_t>(foreign_ ? 0 : static_cast<double>(bytes) * current_share(operand));
    result.resident += resident;
    result.missing += bytes - resident;
  }
  return result;
}

void Coherence::loaded(Hold& hold, bool arrived) {
  if (!hold.loading) return;
  {
    const std::lock_guard lock(mutex_);
    for (const Hold::Upload& upload : hold.uploads) {
      mirrors_.each_chunk(upload.run, [&](Chunk& chunk, std::size_t first, std::size_t last) {
        chunk.loading.clear(first, last);
        if (!arrived) chunk.current.clear(first, last);
      });
    }
    hold.loading = false;
  }
  changed_.notify_all();
}

void Coherence::stage_all(Hold& hold) {
  const std::lock_guard lock(mutex_);
  release_pins_of(hold);
}

}  // namespace blastoff::residency::mirror
