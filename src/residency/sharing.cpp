#include "residency/sharing.h"

#include <algorithm>
#include <cstdint>
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
    : parts_(std::move(parts)), claimed_(parts_.size(), 0), places_(parts_.size(), nullptr) {}

Sharing::~Sharing() {
  for (std::size_t part = 0; part < parts_.size(); ++part)
    for (std::size_t number = 0; places_[part] && number < parts_[part].size(); ++number)
      each_distinct_matrix(parts_[part][number], [&](std::size_t, const Operand& matrix) {
        places_[part]->end_steady(platform::outward_to_pages(bounds(matrix)));
      });
}

/// Calls visit(pages, readers) for the matrices that several parts read in their operations of this number.
template <class Visit>
void Sharing::each_common(std::size_t part, std::size_t number, Visit&& visit) const {
  each_distinct_matrix(parts_[part][number], [&](std::size_t, const Operand& matrix) {
    if (matrix.intent != operation::Intent::read) return;
    std::vector<std::size_t> readers;
    for (std::size_t other = 0; other < parts_.size(); ++other)
      if (number < parts_[other].size() && only_reads(parts_[other][number], matrix)) readers.push_back(other);
    if (readers.size() > 1) visit(platform::outward_to_pages(bounds(matrix)), readers);
  });
}

std::vector<Sharing::Slice> Sharing::brought_by_others(std::size_t part, std::size_t number) const {
  std::vector<Slice> result;
  each_common(part, number, [&](Span pages, const std::vector<std::size_t>& readers) {
    for (std::size_t index = 0; index < readers.size(); ++index)
      if (const Span slice = slice_of(pages, index, readers.size()); readers[index] != part && !slice.empty())
        result.push_back({slice, readers[index]});
  });
  return result;
}

void Sharing::claimed(std::size_t part, std::size_t number, ledger::Place* place) {
  {
    const std::lock_guard lock(mutex_);
    claimed_[part] = std::max(claimed_[part], number + 1);
    if (place) places_[part] = place;
  }
  changed_.notify_all();
}

void Sharing::leave(std::size_t part) {
  claimed(part, SIZE_MAX - 1, nullptr);
}

const ledger::Place* Sharing::place_of(std::size_t part, std::size_t number,
                                       std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, until, [&] { return claimed_[part] > number; }) ? places_[part] : nullptr;
}

}  // namespace blastoff::residency
