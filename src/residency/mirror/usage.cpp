#include "residency/mirror/usage.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

namespace {

/// A mirror costs a page fault for each page when the CPU writes it again: as much as copying that page some eight
/// times (1.3 us against 0.16 us for 4 KiB).
constexpr int uses_that_pay = 8;

/// After so many calls that wrote a result and none that read it.
constexpr int most_unread = 4;

/// After so many new matrices of a kind in a row that were used once.
constexpr int most_used_once = 4;

/// Of a matrix in memory that cannot be tracked: other memory may lie there by then.
constexpr int uses_before_another_look = 32;

/// Of a matrix that was rewritten.
constexpr int least_patience = 4;

bool is_result_only(const operation::Operand& operand) {
  return operation::writes(operand.intent) && !operation::reads(operand.intent);
}

/// Of a kind.
constexpr std::uint64_t result_bit = 1U << 8;

std::uint64_t kind_of(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  const auto size = static_cast<std::uint64_t>(std::bit_width(operand.payload_bytes()));
  const std::uint64_t result = is_result_only(operand) ? result_bit : 0;
  return std::uint64_t{call.routine()} << 32 | index << 16 | result | size << 1 | 1;
}

}  // namespace

Usage::Matrix& Usage::find_or_add(const operation::Operand& operand) {
  return matrices_.use(bounds(operand).begin);
}

void Usage::learn(Matrix& matrix, bool used_again) {
  if (matrix.kind == 0) return;
  int& used_once = used_once_.use(std::exchange(matrix.kind, 0));
  used_once = used_again ? 0 : used_once + 1;
}

bool Usage::worth_tracking(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  Matrix* const known = matrices_.find(bounds(operand).begin);
  if (!known) {
    read_within(operand);
    Matrix& matrix = find_or_add(operand);
    matrix.kind = kind_of(call, index);
    matrix.copied = used_once_of(matrix.kind, is_result_only(operand)) >= most_used_once;
    return !matrix.copied;
  }
  Matrix& matrix = *known;
  if (is_result_only(operand) && matrix.results_in_a_row >= most_unread && operand.payload_bytes() <= most_copied_)
    return false;
  return !matrix.copied || unchanged(matrix, operand);
}

/// How many new matrices of the kind in a row were used once, as far as is known.
int Usage::used_once_of(std::uint64_t kind, bool result) {
  const bool met = used_once_.find(kind) != nullptr;
  int& used_once = used_once_.use(kind);
  if (!met && (result || expected_.contains(kind))) used_once = most_used_once;
  return used_once;
}

Usage::Shape Usage::shape_of(const operation::Operand& operand) {
  return {operand.rows, operand.columns, operand.leading_dimension, operand.part};
}

/// An operand that was not used before: if it lies within a result, that is read.
void Usage::read_within(const operation::Operand& operand) {
  if (!operation::reads(operand.intent)) return;
  const std::uintptr_t begin = bounds(operand).begin;
  Matrix* const found = matrices_.find_up_to(begin);
  if (!found) return;
  Matrix& before = *found;
  if (before.end <= begin || !before.copied || before.results_in_a_row == 0) return;
  learn(before, true);
  before.copied = false;
  before.uses = 0;
}

/// Of a matrix that is copied: whether it has not changed for so long that it is tracked from now on. To be written
/// once more tells nothing. What is read of a result in another shape cannot be compared, and is taken as unchanged.
bool Usage::unchanged(Matrix& matrix, const operation::Operand& operand) {
  if (is_result_only(operand)) return false;
  const bool same =
      matrix.shape == shape_of(operand) ? fingerprint_(operand) == matrix.fingerprint : matrix.results_in_a_row > 0;
  matrix.unchanged_uses = same ? matrix.unchanged_uses + 1 : 0;
  learn(matrix, same);
  if (matrix.unchanged_uses < matrix.patience) return false;
  matrix.copied = false;
  matrix.unchanged_uses = 0;
  matrix.uses = 0;
  return true;
}

bool Usage::copied(const operation::Operand& operand) const {
  const Matrix* const found = matrices_.find(bounds(operand).begin);
  return found && found->copied && found->results_in_a_row == 0;
}

bool Usage::refilled(const operation::Operand& operand) const {
  const Matrix* const found = matrices_.find(bounds(operand).begin);
  return found && found->copied && found->uses > 0 && found->unchanged_uses == 0;
}

bool Usage::used(const operation::Operand& operand) {
  Matrix& matrix = find_or_add(operand);
  matrix.end = bounds(operand).end;
  matrix.shape = shape_of(operand);
  if (matrix.copied)
    matrix.fingerprint = fingerprint_(operand);
  else if (matrix.uses > 0)
    learn(matrix, true);
  ++matrix.uses;
  if (!is_result_only(operand)) {
    matrix.results_in_a_row = 0;
    return false;
  }
  return ++matrix.results_in_a_row == most_unread && operand.payload_bytes() <= most_copied_;
}

bool Usage::rewritten(const operation::Operand& operand, std::size_t written, std::size_t pages) {
  // A few page faults cost too little to matter, and rewriting a small part is the case for which tracking pays.
  constexpr std::size_t few_pages = 16;
  if (written < few_pages || written * 2 < pages) return false;
  Matrix& matrix = find_or_add(operand);
  learn(matrix, false);
  if (std::exchange(matrix.uses, 0) >= uses_that_pay) {
    matrix.patience = 1;
    return false;
  }
  matrix.copied = true;
  matrix.unchanged_uses = 0;
  matrix.fingerprint = 0;
  matrix.patience = std::clamp(matrix.patience * 2, least_patience, 1 << 20);
  return true;
}

void Usage::not_trackable(const operation::Operand& operand) {
  Matrix& matrix = find_or_add(operand);
  matrix.copied = true;
  matrix.patience = uses_before_another_look;
}

std::vector<std::uint64_t> Usage::used_once() const {
  std::vector<std::uint64_t> kinds;
  used_once_.each([&](std::uint64_t kind, int count) {
    if (count > 0 && (kind & result_bit) == 0) kinds.push_back(kind);
  });
  if (kinds.size() > most_kinds) kinds.resize(most_kinds);
  return kinds;
}

void Usage::expect_used_once(std::span<const std::uint64_t> kinds) {
  expected_.insert(kinds.begin(), kinds.end());
}

void Usage::forget(platform::Span span) {
  matrices_.erase_within(span.begin, span.end, [&](Matrix& matrix) { learn(matrix, false); });
}

}  // namespace blastoff::residency::mirror
