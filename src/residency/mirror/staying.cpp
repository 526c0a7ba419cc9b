// Results that stay on the device: which ones, and the end of their host pages.
#include <algorithm>
#include <utility>

#include "platform/malloc_arenas.h"
#include "residency/footprint.h"
#include "residency/mirror/coherence.h"

namespace blastoff::residency::mirror {

namespace {

using platform::Span;

// Giving up a run of pages costs some system calls.
constexpr int max_runs = 64;
constexpr std::size_t min_bytes = std::size_t{64} << 10;

/// Whether the result fills few runs of pages, which are most of it.
bool has_its_own_pages(const operation::Operand& result) {
  if (result.part != operation::Part::full || result.payload_bytes() < min_bytes) return false;
  int runs = 0;
  std::size_t bytes = 0;
  each_filled_run(result, [&](Span run) {
    ++runs;
    bytes += run.bytes();
  });
  return runs <= max_runs && 2 * bytes >= result.payload_bytes();
}

}  // namespace

/// Under the lock.
void Coherence::note_touched() {
  touched_.clear();
  place_.touched(touched_);
  for (const Span run : touched_) stays_.touched(run);
}

Stay Coherence::wanted_stay(const operation::Operation& call, std::size_t index) {
  if (results_ == Results::stay) return Stay::whole;
  const std::lock_guard lock(mutex_);
  note_touched();
  return stays_.judge(call, index);
}

// Whoever touches a page that was given up waits for the pager, and the pager for the device's driver. So the program
// must not touch one while it holds a lock for which the driver may wait: one of its allocator, or of the driver
// itself. A result that cannot be made again if the operation fails has to be in host memory.
bool Coherence::may_stay(const operation::Operation& call, std::size_t index) {
  const operation::Operand& result = call.operands()[index];
  return place_.may_leave() && !call.may_fail && has_its_own_pages(result) && !device_.used_by_program() &&
         !platform::in_malloc_arena(bounds(result));
}

// What the device is about to overwrite, and the results of earlier calls that lie there, come home first where they
// will not stay. So do vectors, which the driver may copy.
void Coherence::choose_staying(PageAcquisition& acquisition) {
  const operation::Operation& call = acquisition.call;
  call.each_result([&](std::size_t i, const operation::Operand& result) {
    Stay stay = source_ ? wanted_stay(call, i) : Stay::no;
    if (stay != Stay::no && !may_stay(call, i)) stay = Stay::no;
    acquisition.stays[i] = stay == Stay::whole;
    acquisition.probes[i] = stay == Stay::probe;
    if (acquisition.stays[i] && operation::reads(result.intent) &&
        place_.any_left(platform::outward_to_pages(bounds(result))))
      acquisition.updates_only_copy = true;
  });
  if (!source_) return;
  const auto operands = call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].empty() && scribbles(operands[i].intent) && !acquisition.stays[i])
      place_.bring_home(platform::outward_to_pages(bounds(operands[i])));
  constexpr std::size_t longest_vector = std::size_t{64} << 20;  // where its length is not known
  for (const operation::HostVector& vector : call.vectors()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(vector.address);
    place_.bring_home(platform::outward_to_pages({begin, begin + (vector.bytes > 0 ? vector.bytes : longest_vector)}));
  }
}

// Memory that is page-locked must keep its pages. Who locks memory asks whether some of it has been given up, after it
// has said that it will. So one of both learns of the other.
bool Coherence::leave(PageAcquisition& acquisition, std::size_t operand) {
  const operation::Operand& result = acquisition.call.operands()[operand];
  std::vector<Span> runs;
  each_filled_run(result, [&](Span run) { runs.push_back(run); });
  acquisition.stays[operand] = leave(runs);
  for (const Span run : runs) acquisition.left[operand] += acquisition.stays[operand] ? run.bytes() : 0;
  return acquisition.stays[operand];
}

bool Coherence::leave(std::span<const Span> runs) {
  bool left = !dma_writer();
  for (const Span run : runs) left = left && place_.leave(run);
  left = left && std::ranges::none_of(runs, [&](Span run) { return pins_->touches(run); });
  if (left) return true;
  for (const Span run : runs) place_.bring_home(run);
  return false;
}

// The results are at home, and current on the device.
void Coherence::leave_probes(PageAcquisition& acquisition) {
  constexpr std::size_t probe_bytes = std::size_t{64} << 10;
  acquisition.call.each_result([&](std::size_t i, const operation::Operand& result) {
    if (!acquisition.probes[i] || !acquisition.tracked[i] || acquisition.copied[i] || acquisition.stays[i]) return;
    Span longest{};
    each_filled_run(result, [&](Span run) {
      if (run.bytes() > longest.bytes()) longest = run;
    });
    const std::size_t page = platform::page_size();
    const std::uintptr_t middle = longest.begin + longest.bytes() / 2 / page * page;
    const Span probe{middle, std::min<std::uintptr_t>(middle + probe_bytes, longest.end)};
    if (!probe.empty() && leave(std::span(&probe, 1))) acquisition.left[i] = probe.bytes();
  });
}

}  // namespace blastoff::residency::mirror
