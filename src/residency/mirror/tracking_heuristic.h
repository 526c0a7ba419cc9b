// Decides whether a mirror of a matrix pays. A matrix that the CPU rewrites before every use costs a page fault for
// each page if it is tracked: more than copying it. A result that the device never reads again needs no mirror either.
// A matrix that a program allocates, uses once and frees needs none. Which pages the program writes while the CPU makes
// all calls is another question, which trace/writes.h answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "operation/operation.h"
#include "platform/backoff.h"
#include "platform/recent_map.h"
#include "platform/span.h"
#include "residency/fingerprint.h"
#include "residency/mirror/habits.h"

namespace blastoff::residency::mirror {

/// The same for operands of a routine that have about the same size, at the same position and with the same intent.
std::uint64_t kind_of(const operation::Operation& call, std::size_t index);

/// What a look at a tracked operand has found, in pages.
struct Look {
  std::size_t pages = 0;    ///< of the operand
  std::size_t kept = 0;     ///< were current, and are
  std::size_t written = 0;  ///< were current, and have been written since
  std::size_t faults = 0;   ///< page faults of the CPU that tracking the operand has cost, as far as the call tells
};

/// Its decisions affect only speed, never results. Not thread-safe.
class TrackingHeuristic {
 public:
  using Fingerprint = mirror::Fingerprint;

  /// `max_copied`: bytes of the largest matrix that can do without a mirror.
  explicit TrackingHeuristic(std::size_t max_copied, Fingerprint fingerprint = residency::fingerprint)
      : max_copied_(max_copied), fingerprint_(std::move(fingerprint)), habits_(fingerprint_) {}

  /// Whether an operand of the call is to be tracked (true) or copied at every use. For a matrix that was rewritten,
  /// some dozens of its elements are compared with their values after its last use. If they stay unchanged for some
  /// uses, it is tracked again; this takes more unchanged uses after every failure.
  ///
  /// A matrix that was not used before is tracked, unless the latest few of its kind were used once, or mirrors of the
  /// routine's operand do not pay (Habits). Its kind is the routine, the operand's position and intent, and its size.
  /// A result is taken for one that is used once until the
  /// device has read one of its kind: to bring that costs far less than the page faults of a program that goes on with
  /// it on the CPU.
  bool worth_tracking(const operation::Operation& call, std::size_t index);

  /// Whether the operand is copied at every use now, because the CPU rewrites it; one that was not used before, whether
  /// it is expected to be.
  bool copied(const operation::Operation& call, std::size_t index) const;

  /// Whether an operand that worth_tracking() wants to be copied has changed since a call used it.
  bool refilled(const operation::Operand& operand) const;

  /// A call that used the operand is over. True: it is not worth tracking any more, being a result that is not read.
  bool used(const operation::Operation& call, std::size_t index);

  /// The same of an operand of which much is on the device alone, and nothing is to be copied from host memory.
  void stayed(const operation::Operation& call, std::size_t index);

  /// Whether looked_at() is to be told what a look has found that found nothing written.
  bool asks(const operation::Operation& call, std::size_t index) const {
    return habits_.doubts(call, index) || habits_.faults(call, index) > 0;
  }

  /// The page was protected and current in some mirror, and has been written.
  void faulted(platform::Span page) { habits_.faulted(page); }

  /// A tracked operand is used again, and a look at its pages has found this. True: copy it from now on, since the page
  /// faults of writing them have cost more than copying what was current. A few uses between two times that it is
  /// rewritten are enough for a mirror to pay; uses of its blocks count, too.
  bool looked_at(const operation::Operation& call, std::size_t index, const Look& look);

  /// A call that tracked the operand is over, and nothing of it is current.
  void lost(const operation::Operation& call, std::size_t index) { habits_.lost(call, index); }

  /// So many bytes were brought through host memory, or were protected, in so many seconds: what the device lacks costs
  /// that much, and what is written. Fewer than `tells_rate` tell nothing.
  static constexpr std::size_t tells_rate = std::size_t{16} << 20;
  void learn_bringing(std::size_t bytes, double seconds);
  void learn_protecting(std::size_t bytes, double seconds);

  /// The operand lies in memory that cannot be tracked.
  void not_trackable(const operation::Operand& operand);

  /// Kinds of operands that are read, of which the latest new matrix was used once; at most `max_kinds`. They mean
  /// something to the same version of the library only.
  std::vector<std::uint64_t> used_once() const;
  static constexpr std::size_t max_kinds = 64;
  /// What used_once() said in an earlier run of the program: new matrices of these kinds are copied, beginning with the
  /// first.
  void expect_used_once(std::span<const std::uint64_t> kinds);

  /// The memory of the span is gone or new.
  void forget(platform::Span span);

 private:
  /// How the calls and the CPU use a matrix.
  struct MatrixUse {
    bool copied = false;
    std::uint64_t fingerprint = 0;
    operation::Operand latest;  ///< as the last call used it; the fingerprint was taken of that
    double bytes_used = 0;      ///< of its elements, since the CPU rewrote it, that were not copied; each use counts
    bool unchanged = false;     ///< since the use before, when a call last compared it
    platform::Backoff backoff{{.first = 4, .max = 1 << 20}};  ///< counts unchanged uses until it is tracked again
    int uses = 0;                                             ///< since the CPU rewrote it
    int results_in_a_row = 0;                                 ///< uses in which the device wrote it and did not read it
    std::uint64_t kind = 0;  ///< while it is not known whether it is used again; else 0
  };
  MatrixUse& find_or_add(const operation::Operand& operand);
  bool unchanged(MatrixUse& matrix, const operation::Operand& operand);
  void read_within(const operation::Operand& operand);
  int used_once_of(std::uint64_t kind, bool result);
  double pages_used_within(const operation::Operand& operand);
  std::uint64_t sight_of(const operation::Operand& operand) const;
  void learn(MatrixUse& matrix, bool used_again);

  const std::size_t max_copied_;
  const Fingerprint fingerprint_;
  Habits habits_;
  double seconds_to_bring_ = 0.19e-6;  // of a page: assumed until it is learnt
  double seconds_to_protect_ = 0;      // of a page
  // By address of the first element.
  platform::RecentMap<std::uintptr_t, MatrixUse> matrices_{platform::max_matrices_remembered};
  platform::RecentMap<std::uint64_t, int> used_once_{4096};  // by kind: so many new matrices in a row
  std::unordered_set<std::uint64_t> expected_;               // kinds of which an earlier run said so
};

}  // namespace blastoff::residency::mirror
