#include "residency/sharing.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include "residency/footprint.h"

namespace blastoff::residency {

namespace {

using operation::Operand;
using operation::Operation;
using platform::Span;

/// The slice of one among `count` readers: whole pages.
Span slice_of(Span whole, std::size_t index, std::size_t count) {
  const auto cut = [&](std::size_t at) {
    if (at == 0) return whole.begin;
    if (at == count) return whole.end;
    const std::uintptr_t address = whole.begin + whole.bytes() / count * at;
    return address / platform::page_size() * platform::page_size();
  };
  return {cut(index), cut(index + 1)};
}

}  // namespace

bool only_reads(const Operation& operation, const Operand& matrix) {
  return std::ranges::any_of(operation.operands(), [&](const Operand& each) {
    return holds_data(each) && each.intent == operation::Intent::read && operation::same_matrix(each, matrix);
  });
}

Sharing::Sharing(std::vector<std::span<const Operation>> parts)
    : parts_(std::move(parts)), brought_(parts_.size(), 0), supplied_(parts_.size(), 0) {}

/// Calls visit(matrix, index, readers) for the matrices that several parts read in their operations of this number;
/// `index`: the part's among these.
template <class Visit>
void Sharing::each_common(std::size_t part, std::size_t number, Visit&& visit) const {
  each_distinct_matrix(parts_[part][number], [&](std::size_t, const Operand& matrix) {
    if (matrix.intent != operation::Intent::read) return;
    std::size_t readers = 0;
    std::size_t index = 0;
    for (std::size_t other = 0; other < parts_.size(); ++other) {
      if (other == part) index = readers;
      if (number < parts_[other].size() && only_reads(parts_[other][number], matrix)) ++readers;
    }
    if (readers > 1) visit(matrix, index, readers);
  });
}

std::vector<Span> Sharing::filled_by_common(std::size_t part, std::size_t number) const {
  std::vector<Span> result;
  each_common(part, number, [&](const Operand& matrix, std::size_t, std::size_t) {
    each_filled_run(matrix, [&](Span run) { result.push_back(run); });
  });
  return result;
}

std::vector<Span> Sharing::brought_by_others(std::size_t part, std::size_t number) const {
  std::vector<Span> result;
  each_common(part, number, [&](const Operand& matrix, std::size_t index, std::size_t readers) {
    const Span whole = platform::outward_to_pages(bounds(matrix));
    const Span own = slice_of(whole, index, readers);
    for (const Span others : {Span{whole.begin, own.begin}, Span{own.end, whole.end}})
      if (!others.empty()) result.push_back(others);
  });
  return result;
}

void Sharing::brought(std::size_t part, std::size_t number) {
  {
    const std::lock_guard lock(mutex_);
    brought_[part] = std::max(brought_[part], number + 1);
  }
  changed_.notify_all();
}

void Sharing::supplied(std::size_t part, std::size_t number) {
  {
    const std::lock_guard lock(mutex_);
    brought_[part] = std::max(brought_[part], number + 1);
    supplied_[part] = std::max(supplied_[part], number + 1);
  }
  changed_.notify_all();
}

void Sharing::leave(std::size_t part) {
  supplied(part, SIZE_MAX - 1);
}

bool Sharing::wait(std::unique_lock<std::mutex>& lock, const std::vector<std::size_t>& done, std::size_t number,
                   double seconds) {
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
    return std::ranges::all_of(done, [&](std::size_t operations) { return operations > number; });
  });
}

bool Sharing::wait(std::size_t number, double seconds) {
  std::unique_lock lock(mutex_);
  return wait(lock, brought_, number, seconds);
}

void Sharing::offer(std::size_t part, std::size_t number, Offer offer) {
  const std::lock_guard lock(mutex_);
  offers_.push_back({part, number, std::move(offer)});
}

Sharing::Taken Sharing::take(std::size_t part, std::size_t number) {
  Taken result;
  result.sharing_ = this;
  const std::lock_guard lock(mutex_);
  for (Offered& each : offers_) {
    if (each.part == part || each.number != number) continue;
    result.taken_.push_back(&each);
    ++each.takers;
  }
  return result;
}

void Sharing::Taken::release() {
  if (taken_.empty()) return;
  {
    const std::lock_guard lock(sharing_->mutex_);
    for (Offered* const each : std::exchange(taken_, {})) --each->takers;
  }
  sharing_->changed_.notify_all();
}

void Sharing::withdraw(std::size_t part, std::size_t number, double seconds) {
  supplied(part, number);
  std::list<Offered> own;
  std::unique_lock lock(mutex_);
  wait(lock, supplied_, number, seconds);
  for (auto each = offers_.begin(); each != offers_.end();) {
    const auto next = std::next(each);
    if (each->part == part) own.splice(own.end(), offers_, each);
    each = next;
  }
  changed_.wait(lock, [&] { return std::ranges::all_of(own, [](const Offered& each) { return each.takers == 0; }); });
}

}  // namespace blastoff::residency
