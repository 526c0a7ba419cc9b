// Results that stay on the device: which ones, and the end of their host pages.
#include <algorithm>
#include <utility>

#include "operation/movement.h"
#include "platform/malloc_arenas.h"
#include "platform/own_stack.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"
#include "tracking/dma_writer.h"

namespace blastoff::residency::mirror {

namespace {

using platform::Span;

// Giving up a run of pages costs some system calls.
constexpr int max_runs = 64;
constexpr std::size_t min_bytes = std::size_t{64} << 10;  // where the user leaves the choice to us

/// The whole pages between its first and its last byte.
Span region_of(const operation::Operand& result) {
  return platform::inward_to_pages(bounds(result));
}

/// Calls visit(Span) for its first and its last bytes if they do not fill their page.
template <class Visit>
void each_edge(const operation::Operand& result, Visit&& visit) {
  const Span whole = bounds(result);
  const Span region = region_of(result);
  if (region.empty()) return;
  if (whole.begin < region.begin) visit(Span{whole.begin, region.begin});
  if (whole.end > region.end) visit(Span{region.end, whole.end});
}

/// Appends those bytes of the pages that are none of the operand's.
void append_others(const operation::Operand& operand, Span pages, std::vector<Span>& bytes) {
  std::uintptr_t at = pages.begin;
  each_span_within(operand, pages, [&](Span own) {
    if (own.begin > at) bytes.push_back({at, own.begin});
    at = own.end;
  });
  if (at < pages.end) bytes.push_back({at, pages.end});
}

}  // namespace

/// Whether the result fills few runs of pages, which are most of it.
bool Coherence::has_its_own_pages(const operation::Operand& result) {
  if (result.part != operation::Part::full) return false;
  int runs = 0;
  std::size_t bytes = 0;
  each_filled_run(result, [&](Span run) {
    ++runs;
    bytes += run.bytes();
  });
  return runs <= max_runs && 2 * bytes >= result.payload_bytes();
}

/// Under the lock.
void Coherence::note_touched() {
  touched_.clear();
  place_.touched(touched_);
  for (const Span run : touched_) {
    stays_.touched(run);
    for (auto& [_, use] : uses_there_) use.touched(run);
  }
}

// What is only moved, or looked at once, need not come home for that, whatever becomes of other results there.
Stay Coherence::wanted_stay(const operation::Operation& call, std::size_t index) {
  if (results_ == Results::stay) return Stay::whole;
  const std::lock_guard lock(mutex_);
  if (belongs_to_matrix(call) && nearly_all_left(call.operands()[index])) return Stay::whole;
  note_touched();
  return stays_.judge(call, index);
}

// A triangle, or a part of a larger matrix, can stay with all that lies between its columns. The device gets what it
// lacks of that, once. Other devices, and other results of the call, might have a share in it.
bool Coherence::has_a_region(const operation::Operation& call, const operation::Operand& result) const {
  int results = 0;
  call.each_result([&](std::size_t, const operation::Operand&) { ++results; });
  const std::size_t bytes = region_of(result).bytes();
  if (bytes == 0 || results > 1 || call.gaps_are_others || place_.shared() || has_wide_gaps(result)) return false;
  constexpr std::size_t max_others = 3;  // for each byte of the result
  return bytes <= (1 + max_others) * result.payload_bytes() || 4 * place_.bytes_left(region_of(result)) >= 3 * bytes;
}

// Whoever touches a page that was given up waits for the pager, and the pager for the device's driver. So the program
// must not touch one while it holds a lock for which the driver may wait: one of its allocator, or of the driver
// itself. Later frames of both may lie where a result was on the stack.
bool Coherence::may_stay(const operation::Operation& call, std::size_t index) {
  const operation::Operand& result = call.operands()[index];
  const bool large_enough = results_ == Results::stay || result.payload_bytes() >= min_bytes;
  return large_enough && place_.may_leave() && (has_its_own_pages(result) || has_a_region(call, result)) &&
         !device_.used_by_program() && !platform::on_own_stack(bounds(result)) &&
         !platform::in_malloc_arena(bounds(result));
}

/// What the program has touched counts as left for a moment longer, until the pager has told.
bool Coherence::nearly_all_left(const operation::Operand& operand) const {
  return 16 * place_.bytes_left(platform::outward_to_pages(bounds(operand))) >= 15 * operand.payload_bytes();
}

/// Whether nearly all of the operand stayed already; or a piece of it, which the program has not touched, so that the
/// call would leave all of it. Under the lock.
bool Coherence::will_stay(const operation::Operation& call, std::size_t index) {
  if (!source_ || !may_stay(call, index)) return false;
  if (nearly_all_left(call.operands()[index])) return true;
  if (!place_.any_left(platform::outward_to_pages(bounds(call.operands()[index])))) return false;
  note_touched();
  return stays_.judge(call, index) == Stay::whole;
}

// The results of earlier calls, and what the device is about to overwrite, come home first where the new results will
// not stay. Vectors come home too, since the driver may copy them.
void Coherence::choose_staying(PageAcquisition& acquisition) {
  const operation::Operation& call = acquisition.call;
  call.each_result([&](std::size_t i, const operation::Operand&) {
    Stay stay = source_ ? wanted_stay(call, i) : Stay::no;
    if (stay != Stay::no && !may_stay(call, i)) stay = Stay::no;
    acquisition.stays[i] = stay == Stay::whole;
    acquisition.probes[i] = stay == Stay::probe;
  });
  if (!source_) return;
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].empty() && scribbles(operands[i].intent) && !acquisition.stays[i]) bring_home(operands[i]);
  for (const operation::HostVector& vector : call.vectors()) place_.bring_home(memory_of(vector));
}

// A small part of a large matrix comes without what lies between its columns.
bool Coherence::bring_home(const operation::Operand& operand) {
  const Span whole = platform::outward_to_pages(bounds(operand));
  if (!place_.any_left(whole)) return false;
  constexpr std::size_t max_others = 3;
  std::size_t bytes = 0;
  std::vector<Span> runs;
  each_covered_run(operand, [&](Span run) {
    bytes += run.bytes();
    runs.push_back(run);
  });
  if (whole.bytes() <= (1 + max_others) * bytes) runs.assign(1, whole);
  std::erase_if(runs, [&](Span run) { return !place_.any_left(run); });
  place_.bring_home(runs);
  return !runs.empty();
}

std::vector<Span> Coherence::not_to_stay(const operation::Operand& result) const {
  std::vector<Span> found;
  const auto add = [&](Span span) {
    if (!place_.all_left_here(platform::outward_to_pages(span))) found.push_back(span);
  };
  if (has_its_own_pages(result)) {
    each_span_on_shared_pages(result, add);
    return found;
  }
  each_edge(result, [&](Span edge) { each_span_within(result, edge, add); });
  return found;
}

// Memory that is page-locked must keep its pages. Who locks memory asks whether some of it has been given up, after it
// has said that it will. So one of both learns of the other.
bool Coherence::leave(PageAcquisition& acquisition, std::size_t operand) {
  const operation::Operand& result = acquisition.call.operands()[operand];
  bool left = false;
  if (has_its_own_pages(result)) {
    std::vector<Span> runs;
    each_filled_run(result, [&](Span run) { runs.push_back(run); });
    left = leave(runs, acquisition.unseen[operand]);
  } else {
    left = leave_region(acquisition, result, region_of(result));
  }
  acquisition.stays[operand] = left;
  if (left) acquisition.left[operand] = result.part_bytes();
  if (left) place_.note({bounds(result), acquisition.call.name(), result.rows, result.columns});
  return left;
}

// The lock keeps others from the pages: calls that compute in them, or bring them, and those who page-lock them. What
// has been page-locked must keep its pages. Other bytes of them may be written past the page table at any time, so that
// it is not enough to have asked after the latest scan.
bool Coherence::leave_region(const PageAcquisition& acquisition, const operation::Operand& result, Span region) {
  if (place_.left_again(region)) return true;
  if (tracking::dma_writer(pins_->others_pin())) return false;
  pins_->forget(region);
  pins_->unlock_ended();
  const std::lock_guard lock(mutex_);
  if (place_.shared() || pins_->touches(region)) return false;
  count_writer(acquisition, -1);
  bool alone = true;
  mirrors_.each_chunk(region, [&](Chunk& chunk, std::size_t first, std::size_t last) {
    alone = alone && !chunk.copy->arriving.any(first, last) &&
            (!chunk.writers || std::all_of(&chunk.writers[first], &chunk.writers[last], [](auto n) { return n == 0; }));
  });
  count_writer(acquisition, +1);
  const auto others = [&](Span pages, std::vector<Span>& bytes) { append_others(result, pages, bytes); };
  return alone && place_.leave(region, others);
}

// Other data on the same page may be in use all the time, or be what the allocator needs to let the pager work. At the
// ends of a block of malloc's with a mapping of its own lies only its header, which is read when the program frees it.
// A result's edges are left where all else of it has stayed before.
bool Coherence::leave_edges(const PageAcquisition& acquisition, std::size_t operand, bool runs_on) {
  const operation::Operand& result = acquisition.call.operands()[operand];
  if (all_left_here(result)) return true;
  if (!has_a_region(acquisition.call, result) || !(runs_on || place_.all_left_here(region_of(result)))) return false;
  if (!fills_its_block(result)) return false;
  bool left = true;
  each_edge(result,
            [&](Span edge) { left = left && leave_region(acquisition, result, platform::outward_to_pages(edge)); });
  return left;
}

bool Coherence::fills_its_block(const operation::Operand& result) {
  return find_end_of_block(bounds(result)) == platform::outward_to_pages(bounds(result)).end;
}

/// Where the allocator's block ends that begins with the span. The answer is remembered, since reading the block's
/// header would bring it home.
std::uintptr_t Coherence::find_end_of_block(Span result) {
  if (place_.any_left(platform::outward_to_pages({result.begin, result.begin + 1}))) {
    const std::lock_guard lock(mutex_);
    return stays_.end_of_block(result);
  }
  const std::uintptr_t end = platform::end_of_malloc_mapping(result.begin);
  const std::lock_guard lock(mutex_);
  stays_.remember_block(result, end);
  return end;
}

bool Coherence::all_left_here(const operation::Operand& result) const {
  if (!has_its_own_pages(result)) return place_.all_left_here(platform::outward_to_pages(bounds(result)));
  bool left = true;
  each_touched_run(result, [&](Span run) { left = left && place_.all_left_here(run); });
  return left;
}

/// Whether nothing is lost with the host's pages of a result but what the call overwrites: it reads none of it, and
/// beside it lies nothing, or what the device is given.
bool Coherence::can_be_given_up_early(const operation::Operation& call, const operation::Operand& result) {
  if (operation::reads(result.intent) || result.part != operation::Part::full || !result.contiguous()) return false;
  if (!has_its_own_pages(result) || !has_a_region(call, result)) return false;
  return region_of(result) == platform::outward_to_pages(bounds(result)) || fills_its_block(result);
}

bool Coherence::may_run_on(const PageAcquisition& acquisition) {
  if (place_.shared() || !alone() || !acquisition.call.outlives_call) return false;
  bool stay = true;
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    stay = stay && acquisition.stays[i] && (all_left_here(result) || can_be_given_up_early(acquisition.call, result));
  });
  return stay;
}

// Where nobody has looked at the pages, nothing has said that they may have been registered for a writer that bypasses
// the page table.
bool Coherence::leave(std::span<const Span> runs, bool unseen) {
  bool left = unseen ? !tracking::dma_writer(pins_->others_pin()) : !dma_writer();
  for (const Span run : runs) left = left && place_.leave(run);
  left = left && std::ranges::none_of(runs, [&](Span run) { return pins_->touches(run); });
  if (left) return true;
  for (const Span run : runs) {
    pins_->forget(run);
    place_.bring_home(run);
  }
  pins_->unlock_ended();
  return false;
}

// The results are at home, and current on the device. The piece lies in the middle column, below its middle:
// factorizations go on with the first columns and the first rows at once.
void Coherence::leave_probes(PageAcquisition& acquisition) {
  constexpr std::size_t probe_bytes = std::size_t{64} << 10;
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (!acquisition.probes[i] || !acquisition.tracked[i] || acquisition.copied[i] || acquisition.stays[i]) return;
    const Span whole = bounds(result);
    const Span column = column_span(result, result.columns / 2);
    const Span middle = platform::inward_to_pages({column.begin + column.bytes() / 4 * 3, whole.end});
    Span probe{};
    each_filled_run(result, [&](Span run) {
      if (!probe.empty() || run.end <= middle.begin) return;
      const std::uintptr_t begin = std::max(run.begin, middle.begin);
      probe = {begin, std::min<std::uintptr_t>(begin + probe_bytes, run.end)};
    });
    if (probe.empty() || !leave(std::span(&probe, 1), false)) return;
    acquisition.left[i] = probe.bytes();
    place_.note({whole, acquisition.call.name(), result.rows, result.columns});
  });
}

}  // namespace blastoff::residency::mirror
