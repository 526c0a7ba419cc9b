// How the mirrors of a routine's operands fare, whatever their sizes and addresses. A program that works on smaller and
// smaller parts of a matrix has a new operand in each call: its address alone tells nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "operation/operation.h"
#include "platform/backoff.h"
#include "platform/interval_set.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// What the elements of an operand are compared by.
using Fingerprint = std::function<std::uint64_t(const operation::Operand&)>;

/// A part of one column, a page long at most: the part `index` of `count` that are spread over the operand.
operation::Operand tile_of(const operation::Operand& operand, std::size_t index, std::size_t count);

/// For operands that are read, and that no earlier call has used at their address. Not thread-safe.
///
/// Where the latest mirrors of a routine's operand did not pay, the next ones are suspected: those within memory that
/// was rewritten, and after some in a row all. What is suspected is copied. Some parts of it are compared with what
/// they were after the call before. If most have stayed for some uses, or none lies in the next operand, a mirror is
/// tried again. This takes twice as many uses after every failure. Where a mirror did not pay though most of it was
/// kept, that most has stayed tells little.
///
/// A page fault is a matter of the mirrors for which the page was protected, and the call that finds it may not have
/// their operands: in a factorization, the CPU rewrites a part of the last result, and the next result is the rest.
class Habits {
 public:
  explicit Habits(Fingerprint fingerprint) : fingerprint_(std::move(fingerprint)) {}

  /// Whether a mirror of a new operand is expected to pay, or is to be tried.
  bool worth_mirror(const operation::Operation& call, std::size_t index);
  /// Whether such a mirror is not expected to pay, as far as is known without looking at the operand.
  bool suspects(const operation::Operation& call, std::size_t index) const;

  /// Whether the latest mirror did not pay: then it is of interest whether the next one does.
  bool doubts(const operation::Operation& call, std::size_t index) const;

  /// A call that tracked the operand is over: its pages may be protected.
  void tracked(const operation::Operation& call, std::size_t index);
  /// The operand has no mirror, or one whose pages are not at home.
  void untracked(const operation::Operation& call, std::size_t index);
  /// The page was protected and current, and has been written.
  void faulted(platform::Span page);
  /// How many there were of the operand that was tracked latest, if this one lies in the same memory. To be asked when
  /// this one is used.
  std::size_t faults(const operation::Operation& call, std::size_t index) const;

  /// The operand's mirror has saved more than it has cost.
  void paid(const operation::Operation& call, std::size_t index);
  /// It has not: the CPU rewrote the operand, or with `kept` the smaller part of it.
  void rewritten(const operation::Operation& call, std::size_t index, bool kept);
  /// It has not: nothing of it is current after the call.
  void lost(const operation::Operation& call, std::size_t index);

  /// A call that copied the operand is over.
  void copied(const operation::Operation& call, std::size_t index);

  /// The memory of the span is gone or new.
  void forget(platform::Span span);

 private:
  struct Sample {
    operation::Operand tile;
    std::uint64_t fingerprint = 0;
  };
  struct Habit {
    int failures = 0;                                          ///< in a row
    platform::IntervalSet rewritten;                           ///< where
    int spans = 0;                                             ///< that were added to it
    platform::Backoff backoff{{.first = 32, .max = 1 << 20}};  ///< counts uses of which nothing is known
    int tries = 0;                     ///< operands that have a mirror until one of them has told whether it paid
    std::array<Sample, 16> samples{};  ///< of what was copied; an empty tile: none
    std::size_t next_sample = 0;
    bool kept = false;           ///< most of the latest mirror that did not pay
    operation::Operand tracked;  ///< the latest one; empty: none
    std::size_t faults = 0;      ///< on its pages since then
  };
  static std::uint64_t key_of(const operation::Operation& call, std::size_t index);
  static bool suspects(const Habit& habit, const operation::Operand& operand);
  enum class Samples : std::uint8_t { none, stay, change };
  Samples compare(Habit& habit, const operation::Operand& operand) const;
  Habit& failed(const operation::Operation& call, std::size_t index);

  const Fingerprint fingerprint_;
  std::unordered_map<std::uint64_t, Habit> habits_;  // by routine and operand
};

}  // namespace blastoff::residency::mirror
