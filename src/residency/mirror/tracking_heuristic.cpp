#include "residency/mirror/tracking_heuristic.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "residency/footprint.h"
#include "tracking/page_tracker.h"

namespace blastoff::residency::mirror {

namespace {

/// A page takes no longer than that: where copies are slower still, others keep the cores busy, and page faults are
/// slower, too.
constexpr double max_seconds_of_a_page = tracking::seconds_of_page_fault / 4;

/// Larger matrices are compared by tiles.
constexpr std::size_t large_sight = std::size_t{32} << 20;
constexpr std::size_t tiles = 8;
constexpr int bits_of_a_tile = 8;

/// After so many calls that wrote a result and none that read it.
constexpr int max_unread = 4;

/// After so many new matrices of a kind in a row that were used once.
constexpr int max_used_once = 4;

/// A matrix in memory that cannot be tracked is looked at again after so many uses: other memory may lie there by then.
constexpr int uses_before_another_look = 32;

bool is_result_only(const operation::Operand& operand) {
  return operation::writes(operand.intent) && !operation::reads(operand.intent);
}

/// Marks a kind as a result.
constexpr std::uint64_t result_bit = 1U << 8;

/// Follows a fall at once, and a rise slowly: the least time is the one that was not disturbed.
void learn_page(double& known, std::size_t bytes, double seconds) {
  if (bytes < TrackingHeuristic::tells_rate || seconds <= 0) return;
  const double pages = static_cast<double>(bytes) / static_cast<double>(platform::page_size());
  const double latest = std::min(seconds / pages, max_seconds_of_a_page);
  known += latest < known ? latest - known : (latest - known) / 8;
}

/// Whether a matrix is as it was. A large one may have changed in a small part.
bool same(std::uint64_t before, std::uint64_t now, const operation::Operand& operand) {
  if (operand.payload_bytes() < large_sight) return before == now;
  int changed = 0;
  for (std::uint64_t difference = before ^ now; difference != 0; difference >>= bits_of_a_tile)
    changed += difference % (1U << bits_of_a_tile) != 0 ? 1 : 0;
  return changed <= 1;
}

}  // namespace

std::uint64_t kind_of(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  const auto size = static_cast<std::uint64_t>(std::bit_width(operand.payload_bytes()));
  const std::uint64_t result = is_result_only(operand) ? result_bit : 0;
  return std::uint64_t{call.routine()} << 32 | index << 16 | result | size << 1 | 1;
}

TrackingHeuristic::MatrixUse& TrackingHeuristic::find_or_add(const operation::Operand& operand) {
  return matrices_.use(bounds(operand).begin);
}

void TrackingHeuristic::learn(MatrixUse& matrix, bool used_again) {
  if (matrix.kind == 0) return;
  int& used_once = used_once_.use(std::exchange(matrix.kind, 0));
  used_once = used_again ? 0 : used_once + 1;
}

bool TrackingHeuristic::worth_tracking(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  MatrixUse* const known = matrices_.find(bounds(operand).begin);
  if (!known) {
    read_within(operand);
    MatrixUse& matrix = find_or_add(operand);
    matrix.kind = kind_of(call, index);
    const bool result = is_result_only(operand);
    matrix.copied =
        used_once_of(matrix.kind, result) >= max_used_once || (!result && !habits_.worth_mirror(call, index));
    return !matrix.copied;
  }
  MatrixUse& matrix = *known;
  if (is_result_only(operand) && matrix.results_in_a_row >= max_unread && operand.payload_bytes() <= max_copied_)
    return false;
  return !matrix.copied || unchanged(matrix, operand);
}

/// How many new matrices of the kind in a row were used once, as far as is known.
int TrackingHeuristic::used_once_of(std::uint64_t kind, bool result) {
  const bool met = used_once_.find(kind) != nullptr;
  int& used_once = used_once_.use(kind);
  if (!met && (result || expected_.contains(kind))) used_once = max_used_once;
  return used_once;
}

/// An operand that was not used before: if it lies within a result, that is read.
void TrackingHeuristic::read_within(const operation::Operand& operand) {
  if (!operation::reads(operand.intent)) return;
  const std::uintptr_t begin = bounds(operand).begin;
  MatrixUse* const found = matrices_.find_up_to(begin);
  if (!found) return;
  MatrixUse& before = *found;
  if (bounds(before.latest).end <= begin || !before.copied || before.results_in_a_row == 0) return;
  learn(before, true);
  before.copied = false;
  before.uses = 0;
}

/// Whether a matrix that is copied has not changed for so long that it is tracked from now on. A call that only writes
/// the matrix tells nothing. A result that is read in another shape cannot be compared, and counts as unchanged.
bool TrackingHeuristic::unchanged(MatrixUse& matrix, const operation::Operand& operand) {
  if (is_result_only(operand)) return false;
  const bool same_shape = same_matrix(matrix.latest, operand) && matrix.latest.part == operand.part;
  matrix.unchanged = same_shape ? same(matrix.fingerprint, sight_of(operand), operand) : matrix.results_in_a_row > 0;
  learn(matrix, matrix.unchanged);
  if (matrix.unchanged)
    matrix.backoff.count();
  else
    matrix.backoff.restart();
  if (!matrix.unchanged || !matrix.backoff.is_over()) return false;
  matrix.copied = false;
  matrix.unchanged = false;
  matrix.uses = 0;
  return true;
}

/// The number by which a change of the operand is noticed. For a large one it has eight bits of each tile.
std::uint64_t TrackingHeuristic::sight_of(const operation::Operand& operand) const {
  if (operand.payload_bytes() < large_sight) return fingerprint_(operand);
  std::uint64_t sight = 0;
  for (std::size_t i = 0; i < tiles; ++i) {
    const std::uint64_t mixed = fingerprint_(tile_of(operand, i, tiles)) * 0x9e3779b97f4a7c15U;
    sight = sight << bits_of_a_tile | mixed >> (64 - bits_of_a_tile);
  }
  return sight;
}

bool TrackingHeuristic::copied(const operation::Operation& call, std::size_t index) const {
  const operation::Operand& operand = call.operands()[index];
  const MatrixUse* const found = matrices_.find(bounds(operand).begin);
  if (!found) return !is_result_only(operand) && habits_.suspects(call, index);
  return found->copied && found->results_in_a_row == 0;
}

bool TrackingHeuristic::refilled(const operation::Operand& operand) const {
  const MatrixUse* const found = matrices_.find(bounds(operand).begin);
  return found && found->copied && found->uses > 0 && !found->unchanged;
}

bool TrackingHeuristic::used(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  MatrixUse& matrix = find_or_add(operand);
  matrix.bytes_used += static_cast<double>(operand.payload_bytes());
  matrix.latest = operand;
  if (matrix.copied)
    matrix.fingerprint = sight_of(operand);
  else if (matrix.uses > 0)
    learn(matrix, true);
  if (matrix.copied && matrix.uses == 0) habits_.copied(call, index);
  if (matrix.copied)
    habits_.untracked(call, index);
  else
    habits_.tracked(call, index);
  ++matrix.uses;
  if (!is_result_only(operand)) {
    matrix.results_in_a_row = 0;
    return false;
  }
  return ++matrix.results_in_a_row == max_unread && operand.payload_bytes() <= max_copied_;
}

/// A result that stays saves its way home, too.
void TrackingHeuristic::stayed(const operation::Operation& call, std::size_t index) {
  const operation::Operand& operand = call.operands()[index];
  MatrixUse& matrix = find_or_add(operand);
  habits_.untracked(call, index);
  matrix.bytes_used += (operation::writes(operand.intent) ? 2.0 : 1.0) * static_cast<double>(operand.payload_bytes());
  matrix.latest = operand;
  matrix.copied = false;
  matrix.results_in_a_row = 0;
  if (matrix.uses++ > 0) learn(matrix, true);
}

/// Pages that uses of the operand's blocks have read or written since the CPU rewrote it. They count once. A few rows
/// of a matrix reach from its begin to its end: what lies between them is none of their blocks.
double TrackingHeuristic::pages_used_within(const operation::Operand& operand) {
  double bytes = 0;
  const platform::Span all = bounds(operand);
  matrices_.each_within(all.begin + 1, all.end, [&](MatrixUse& block) {
    if (block.copied || !covers(operand, block.latest)) return;
    bytes += block.bytes_used;
    block.uses = 0;
    block.bytes_used = 0;
  });
  return bytes / static_cast<double>(platform::page_size());
}

bool TrackingHeuristic::looked_at(const operation::Operation& call, std::size_t index, const Look& look) {
  // A few page faults cost too little to matter.
  constexpr std::size_t few_pages = 16;
  const operation::Operand& operand = call.operands()[index];
  const auto pages = [](std::size_t count) { return static_cast<double>(count); };
  MatrixUse* const known = matrices_.find(bounds(operand).begin);
  const int before = known ? std::max(known->uses - 1, 0) : 0;  // uses that found what an earlier one had brought
  const std::size_t faults = std::max(look.faults, habits_.faults(call, index));
  const bool few = faults < few_pages || (is_result_only(operand) && 2 * look.written < look.pages);
  const double within = few ? 0 : pages_used_within(operand);
  const double saved = (before * pages(look.pages) + within + pages(look.kept)) * seconds_to_bring_;
  const double cost = pages(faults) * (tracking::seconds_of_page_fault + seconds_to_protect_);
  const bool paid = saved >= cost;
  if (few) {
    if (paid && 2 * look.kept >= look.pages) habits_.paid(call, index);
    return false;
  }
  MatrixUse& matrix = find_or_add(operand);
  if (2 * look.written >= look.pages) learn(matrix, false);
  matrix.uses = 0;
  matrix.bytes_used = 0;
  if (paid) {
    matrix.backoff.succeeded();
    habits_.paid(call, index);
    return false;
  }
  habits_.rewritten(call, index, 2 * look.kept >= look.pages);
  matrix.copied = true;
  matrix.unchanged = false;
  matrix.fingerprint = 0;
  matrix.backoff.failed();
  return true;
}

void TrackingHeuristic::learn_bringing(std::size_t bytes, double seconds) {
  learn_page(seconds_to_bring_, bytes, seconds);
}

void TrackingHeuristic::learn_protecting(std::size_t bytes, double seconds) {
  learn_page(seconds_to_protect_, bytes, seconds);
}

void TrackingHeuristic::not_trackable(const operation::Operand& operand) {
  MatrixUse& matrix = find_or_add(operand);
  matrix.copied = true;
  matrix.backoff.failed(uses_before_another_look);
}

std::vector<std::uint64_t> TrackingHeuristic::used_once() const {
  std::vector<std::uint64_t> kinds;
  used_once_.each([&](std::uint64_t kind, int count) {
    if (count > 0 && (kind & result_bit) == 0) kinds.push_back(kind);
  });
  if (kinds.size() > max_kinds) kinds.resize(max_kinds);
  return kinds;
}

void TrackingHeuristic::expect_used_once(std::span<const std::uint64_t> kinds) {
  expected_.insert(kinds.begin(), kinds.end());
}

void TrackingHeuristic::forget(platform::Span span) {
  matrices_.erase_within(span.begin, span.end, [&](MatrixUse& matrix) { learn(matrix, false); });
  habits_.forget(span);
}

}  // namespace blastoff::residency::mirror
