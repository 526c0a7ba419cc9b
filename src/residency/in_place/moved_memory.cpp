#include "residency/in_place/moved_memory.h"

#include <algorithm>

#include "platform/contained.h"
#include "platform/log.h"
#include "platform/stopwatch.h"
#include "residency/footprint.h"
#include "tracking/watch_mapping.h"

namespace blastoff::residency::in_place {

namespace {

using platform::LeftBehind;
using platform::Moved;
using platform::Span;

// If nothing reports that memory was freed, the kernel is asked again after this many uses. By then the addresses may
// belong to other memory; that still works, but slowly.
constexpr std::uint64_t uses_before_asking_again = 64;

Span pages_of(const operation::Operand& operand) {
  return platform::outward_to_pages(bounds(operand));
}

/// The runs of pages on which the operand lies, in parts for one thread each.
std::vector<std::vector<Span>> parts_of(const operation::Operand& operand) {
  const std::size_t max_bytes = platform::pages_per_move * platform::page_size();
  std::vector<std::vector<Span>> parts;
  std::size_t room = 0;
  std::uintptr_t end = 0;
  each_covered_run(operand, [&](Span run) {
    run.begin = std::max(run.begin, end);  // neighbouring columns may meet on one page
    while (!run.empty()) {
      if (room == 0) {
        parts.emplace_back();
        room = max_bytes;
      }
      const Span piece{run.begin, run.begin + std::min(run.bytes(), room)};
      parts.back().push_back(piece);
      room -= piece.bytes();
      run.begin = end = piece.end;
    }
  });
  return parts;
}

/// Pages are allocated only for a result. Reading memory that was never written gives zeros and takes up no memory.
bool worth_filling(const operation::Operand& operand) {
  return operation::writes(operand.intent) && operand.part == operation::Part::full;
}

}  // namespace

void MovedMemory::apply_events() {
  if (!events_) return;
  event_buffer_.clear();
  const bool complete = events_->drain(event_buffer_);
  for (const tracking::MemoryEvent& event : event_buffer_) {
    forget(event.span);
    if (event.kind != tracking::MemoryEvent::Kind::dropped) watched_.remove(event.span);
  }
  if (complete) return;
  forget({0, UINTPTR_MAX});
  watched_.clear();
}

void MovedMemory::forget(Span span) {
  done_.remove(span);
  unheard_.remove(span);
}

bool MovedMemory::being_moved(Span span) const {
  return std::any_of(being_moved_.begin(), being_moved_.end(), [&](Span other) { return other.overlaps(span); });
}

bool MovedMemory::dealt_with(const operation::Operand& operand) {
  const Span pages = pages_of(operand);
  if (unheard_.overlaps(pages) && ++uses_of_unheard_ % uses_before_asking_again == 0) {
    forget(pages);
    return false;
  }
  return done_.contains(operand);
}

std::optional<bool> MovedMemory::already(const operation::Operand& operand) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  return done_.contains(operand);
}

Use MovedMemory::use(const operation::Operand& operand) {
  const Span pages = pages_of(operand);
  std::unique_lock lock(mutex_);
  apply_events();
  if (dealt_with(operand)) return {};
  const platform::Stopwatch stopwatch;
  if (being_moved(pages)) {
    changed_.wait(lock, [&] { return !being_moved(pages); });
    if (dealt_with(operand)) return {.seconds = stopwatch.seconds()};
  }
  watch(pages);
  being_moved_.push_back(pages);
  lock.unlock();
  Moved moved;
  const bool complete = platform::contained([&] { moved = move(operand); });
  lock.lock();
  being_moved_.erase(std::find(being_moved_.begin(), being_moved_.end(), pages));
  if (complete) platform::contained([&] { done_.add(operand); });
  totals_ += moved;
  const double seconds = stopwatch.seconds();
  seconds_ += seconds;
  complain(moved);
  lock.unlock();
  changed_.notify_all();
  return {true, moved.moved + moved.filled, seconds};
}

/// Before the move, so that no event is missed in between.
void MovedMemory::watch(Span span) {
  if (watched_.contains(span)) return;
  if (events_) {
    const auto watched = tracking::watch_mapping(
        span, [](platform::MemoryKind kind) { return kind == platform::MemoryKind::anonymous; },
        [&](Span memory) { return events_->watch(memory); });
    if (watched) {
      watched_.add(*watched);
      return;
    }
  }
  unheard_.add(span);
}

Moved MovedMemory::move(const operation::Operand& operand) {
  const auto parts = parts_of(operand);
  std::vector<Moved> moved(parts.size());
  pool_.run(parts.size(), [&](std::size_t i) { moved[i] = move_to_node(parts[i], node_, worth_filling(operand)); });
  Moved sum;
  for (const Moved& part : moved) sum += part;
  return sum;
}

/// Prints a line, once, if memory was left behind for a reason that the user can change.
void MovedMemory::complain(const Moved& moved) {
  if (complained_) return;
  for (const LeftBehind reason : {LeftBehind::forbidden, LeftBehind::no_room}) {
    if (moved.left[static_cast<std::size_t>(reason)] == 0) continue;
    complained_ = true;
    platform::log_line("NUMA node %d: %s; such matrices stay where they are", node_, describe(reason));
    return;
  }
}

Migration MovedMemory::totals() {
  const std::lock_guard lock(mutex_);
  Migration migration;
  migration.node = node_;
  migration.moved = totals_.moved + totals_.filled;
  migration.there = totals_.there;
  migration.left = totals_.left_bytes();
  for (std::size_t i = 0; i < totals_.left.size(); ++i)
    if (totals_.left[i] > 0) migration.left_because.emplace_back(describe(static_cast<LeftBehind>(i)), totals_.left[i]);
  migration.seconds = seconds_;
  return migration;
}

}  // namespace blastoff::residency::in_place
