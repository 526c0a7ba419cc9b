// Which matrices the CPU writes anew before every use: a page fault for each of their pages costs more than copying
// them.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "operation/operand.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// Decides for speed only; whatever it says, results are right. Not thread-safe.
class Rewrites {
 public:
  /// Whether the operand is to be tracked (true) or copied at every use. Of an operand that is copied some dozens of
  /// elements are compared with what they were after its last use: if they stay as they were for some uses, tracking it
  /// is tried again, ever more rarely.
  bool worth_tracking(const operation::Operand& operand);

  /// Whether the operand is copied at every use at present.
  bool copied(const operation::Operand& operand) const;

  /// A call that used the operand is over: remembers its elements if it is one that is copied.
  void used(const operation::Operand& operand);

  /// A tracked operand is used again: `written` of its `pages` pages had been current and were written since. True: it
  /// is to be copied from now on.
  bool rewritten(const operation::Operand& operand, std::size_t written, std::size_t pages);

  /// The memory of the span is gone or new.
  void forget(platform::Span span);

 private:
  struct Matrix {
    bool copied = false;
    std::uint64_t fingerprint = 0;
    int unchanged_uses = 0;  ///< in a row
    int patience = 2;        ///< unchanged uses that are asked for before tracking again; doubles with every failure
  };
  std::unordered_map<std::uintptr_t, Matrix> matrices_;  // by address of the first element
};

}  // namespace blastoff::residency::mirror
