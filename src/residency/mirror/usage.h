// How matrices are used, as far as it decides whether a mirror pays. A matrix that the CPU rewrites before every use
// costs a page fault for each page if it is tracked: more than copying it. A result that the device never reads again
// needs no mirror either. Nor does what a program allocates, uses once and frees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "operation/operation.h"
#include "platform/recent_map.h"
#include "platform/span.h"
#include "residency/fingerprint.h"

namespace blastoff::residency::mirror {

/// Its decisions affect only speed, never results. Not thread-safe.
class Usage {
 public:
  /// What the elements of an operand are compared by.
  using Fingerprint = std::function<std::uint64_t(const operation::Operand&)>;

  /// `most_copied`: bytes of the largest matrix that can do without a mirror.
  explicit Usage(std::size_t most_copied, Fingerprint fingerprint = residency::fingerprint)
      : most_copied_(most_copied), fingerprint_(std::move(fingerprint)) {}

  /// Whether an operand of the call is to be tracked (true) or copied at every use. For a matrix that was rewritten,
  /// some dozens of its elements are compared with their values after its last use. If they stay unchanged for some
  /// uses, it is tracked again; this takes more unchanged uses after every failure.
  ///
  /// A matrix that was not used before is tracked, unless the latest few of its kind were used once. Its kind is the
  /// routine, the operand's position and intent, and its size. A result is taken for one that is used once until the
  /// device has read one of its kind: to bring that costs far less than the page faults of a program that goes on with
  /// it on the CPU.
  bool worth_tracking(const operation::Operation& call, std::size_t index);

  /// Whether the operand is copied at every use now, because the CPU rewrites it.
  bool copied(const operation::Operand& operand) const;

  /// Of an operand that worth_tracking() wants to be copied: whether it has changed since a call used it.
  bool refilled(const operation::Operand& operand) const;

  /// A call that used the operand is over. True: it is not worth tracking any more, being a result that is not read.
  bool used(const operation::Operand& operand);

  /// A tracked operand is used again, and of its `pages` pages `written` were current and have been written since.
  /// True: copy it from now on. A few uses between two times that it is rewritten are enough for a mirror to pay.
  bool rewritten(const operation::Operand& operand, std::size_t written, std::size_t pages);

  /// The operand lies in memory that cannot be tracked.
  void not_trackable(const operation::Operand& operand);

  /// Kinds of operands that are read, of which the latest new matrix was used once; at most `most_kinds`. They mean
  /// something to the same version of the library only.
  std::vector<std::uint64_t> used_once() const;
  static constexpr std::size_t most_kinds = 64;
  /// What used_once() said in an earlier run of the program: new matrices of these kinds are copied, beginning with the
  /// first.
  void expect_used_once(std::span<const std::uint64_t> kinds);

  /// The memory of the span is gone or new.
  void forget(platform::Span span);

 private:
  /// What a fingerprint was taken of.
  struct Shape {
    std::int64_t rows = 0, columns = 0, leading_dimension = 0;
    operation::Part part = operation::Part::full;
    bool operator==(const Shape&) const = default;
  };
  struct Matrix {
    bool copied = false;
    std::uint64_t fingerprint = 0;
    Shape shape;
    std::uintptr_t end = 0;    ///< of its memory, at the last use
    int unchanged_uses = 0;    ///< in a row
    int patience = 1;          ///< unchanged uses needed before it is tracked again; doubles with every failure
    int uses = 0;              ///< since the CPU rewrote it
    int results_in_a_row = 0;  ///< uses in which the device wrote it and did not read it
    std::uint64_t kind = 0;    ///< while it is not known whether it is used again; else 0
  };
  Matrix& find_or_add(const operation::Operand& operand);
  static Shape shape_of(const operation::Operand& operand);
  bool unchanged(Matrix& matrix, const operation::Operand& operand);
  void read_within(const operation::Operand& operand);
  int used_once_of(std::uint64_t kind, bool result);
  void learn(Matrix& matrix, bool used_again);

  const std::size_t most_copied_;
  const Fingerprint fingerprint_;
  // By address of the first element.
  platform::RecentMap<std::uintptr_t, Matrix> matrices_{platform::most_matrices_remembered};
  platform::RecentMap<std::uint64_t, int> used_once_{4096};  // by kind: so many new matrices in a row
  std::unordered_set<std::uint64_t> expected_;               // kinds of which an earlier run said so
};

}  // namespace blastoff::residency::mirror
