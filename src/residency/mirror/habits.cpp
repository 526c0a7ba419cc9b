#include "residency/mirror/habits.h"

#include <algorithm>

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

namespace {

using platform::Span;

/// After so many mirrors in a row that did not pay, no new one is expected to.
constexpr int max_failures = 4;

/// A use that found the operand unchanged is worth so many of which nothing is known.
constexpr int worth_of_unchanged = 8;

/// A mirror that is tried tells whether it paid at the next use of its pages. If none of so many operands meets another
/// one, that is not known.
constexpr int operands_of_a_trial = 4;

/// Samples of an operand: one in so many bytes, so that to look at them takes a small part of the time of a copy.
constexpr std::size_t bytes_for_a_sample = std::size_t{4} << 20;
constexpr std::size_t max_samples_of_a_use = 8;

/// One in so many samples may change: the CPU rewrites a small part.
constexpr std::size_t changed_share = 8;

/// Spans that are remembered of a habit.
constexpr int max_spans = 4096;

}  // namespace

operation::Operand tile_of(const operation::Operand& operand, std::size_t index, std::size_t count) {
  const std::size_t columns = static_cast<std::size_t>(operand.columns);
  const Span column = column_span(operand, static_cast<std::int64_t>((2 * index + 1) * columns / (2 * count)));
  const std::size_t elements = column.bytes() / operand.element_size;
  // Half a column, so that it lies in the smaller operands to come.
  const std::size_t rows = std::min((elements + 1) / 2, platform::page_size() / operand.element_size);
  // Not along the diagonal, so that tiles lie in all parts of the matrix.
  const std::size_t part = (5 * index + 3) % count;
  const std::size_t first = (elements - rows) * (2 * part + 1) / (2 * count);
  operation::Operand tile = operand;
  tile.address = reinterpret_cast<void*>(column.begin + first * operand.element_size);
  tile.rows = static_cast<std::int64_t>(rows);
  tile.columns = 1;
  tile.part = operation::Part::full;
  return tile;
}

std::uint64_t Habits::key_of(const operation::Operation& call, std::size_t index) {
  return std::uint64_t{call.routine()} << 8 | index;
}

/// Most of it lies within memory that was rewritten, or nothing has paid lately.
bool Habits::suspects(const Habit& habit, const operation::Operand& operand) {
  if (habit.failures >= max_failures) return true;
  const Span span = bounds(operand);
  std::size_t rewritten = 0;
  habit.rewritten.each_common(span, [&](Span common) { rewritten += common.bytes(); });
  return rewritten * 2 > span.bytes();
}

bool Habits::suspects(const operation::Operation& call, std::size_t index) const {
  const auto habit = habits_.find(key_of(call, index));
  return habit != habits_.end() && suspects(habit->second, call.operands()[index]);
}

bool Habits::doubts(const operation::Operation& call, std::size_t index) const {
  const auto habit = habits_.find(key_of(call, index));
  return habit != habits_.end() && habit->second.failures > 0;
}

bool Habits::worth_mirror(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  const auto known = habits_.find(key_of(call, index));
  if (known == habits_.end() || !suspects(known->second, operand)) return true;
  Habit& habit = known->second;
  if (habit.tries > 0) {
    --habit.tries;
    return true;
  }
  switch (compare(habit, operand)) {
    case Samples::none: habit.backoff.count(); break;
    case Samples::stay: habit.backoff.count(habit.kept ? 1 : worth_of_unchanged); break;
    case Samples::change: habit.backoff.restart();
  }
  if (!habit.backoff.is_over()) return false;
  habit.backoff.failed();  // unless it turns out that it paid
  habit.tries = operands_of_a_trial - 1;
  return true;
}

/// What has become of that which the operand has in common with the operands that were copied before. What has changed
/// has told so, and is not compared again.
Habits::Samples Habits::compare(Habit& habit, const operation::Operand& operand) const {
  std::size_t looked_at = 0;
  std::size_t changed = 0;
  for (Sample& sample : habit.samples) {
    if (sample.tile.empty() || !covers(operand, sample.tile)) continue;
    ++looked_at;
    if (fingerprint_(sample.tile) == sample.fingerprint) continue;
    ++changed;
    sample.tile.columns = 0;
  }
  if (looked_at == 0) return Samples::none;
  return changed * changed_share > looked_at ? Samples::change : Samples::stay;
}

void Habits::copied(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  const auto known = habits_.find(key_of(call, index));
  if (known == habits_.end() || !suspects(known->second, operand)) return;
  Habit& habit = known->second;
  const std::size_t count =
      std::clamp<std::size_t>(operand.payload_bytes() / bytes_for_a_sample, 1, max_samples_of_a_use);
  for (std::size_t i = 0; i < count; ++i) {
    Sample& sample = habit.samples[habit.next_sample++ % habit.samples.size()];
    sample.tile = tile_of(operand, i, count);
    sample.fingerprint = fingerprint_(sample.tile);
  }
}

void Habits::paid(const operation::Operation& call, std::size_t index) {
  const auto known = habits_.find(key_of(call, index));
  if (known == habits_.end()) return;
  Habit& habit = known->second;
  habit.failures = 0;
  habit.tries = 0;
  habit.faults = 0;
  habit.backoff.succeeded();
  habit.backoff.failed();  // what is still suspected waits for the first pause
  habit.rewritten.remove(bounds(call.operands()[index]));
}

Habits::Habit& Habits::failed(const operation::Operation& call, std::size_t index) {
  Habit& habit = habits_[key_of(call, index)];
  habit.failures = std::min(habit.failures + 1, max_failures);
  if (habit.backoff.has_failed())
    habit.backoff.restart();
  else
    habit.backoff.failed();
  habit.tries = 0;
  habit.faults = 0;
  return habit;
}

void Habits::tracked(const operation::Operation& call, std::size_t index) {
  Habit& habit = habits_[key_of(call, index)];
  habit.tracked = call.operands()[index];
  habit.faults = 0;
}

void Habits::untracked(const operation::Operation& call, std::size_t index) {
  if (const auto known = habits_.find(key_of(call, index)); known != habits_.end()) known->second.tracked.columns = 0;
}

void Habits::faulted(Span page) {
  for (auto& [key, habit] : habits_)
    if (touches(habit.tracked, page)) ++habit.faults;
}

std::size_t Habits::faults(const operation::Operation& call, std::size_t index) const {
  const auto known = habits_.find(key_of(call, index));
  if (known == habits_.end() || known->second.tracked.empty()) return 0;
  return bounds(known->second.tracked).overlaps(bounds(call.operands()[index])) ? known->second.faults : 0;
}

void Habits::rewritten(const operation::Operation& call, std::size_t index, bool kept) {
  Habit& habit = failed(call, index);
  habit.kept = kept;
  if (++habit.spans > max_spans) {
    habit.rewritten = {};
    habit.spans = 1;
  }
  habit.rewritten.add(bounds(call.operands()[index]));
}

void Habits::lost(const operation::Operation& call, std::size_t index) {
  failed(call, index);
}

void Habits::forget(Span span) {
  for (auto& [key, habit] : habits_) {
    habit.rewritten.remove(span);
    if (!habit.tracked.empty() && bounds(habit.tracked).overlaps(span)) habit.tracked.columns = 0;
  }
}

}  // namespace blastoff::residency::mirror
