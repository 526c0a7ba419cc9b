// Which matrices the CPU rewrites before every use. For these, a page fault for each page costs more than copying.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "operation/operand.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

/// Its decisions affect only speed, never results. Not thread-safe.
class Rewrites {
 public:
  /// Whether the operand is to be tracked (true) or copied at every use. For an operand that is copied, some dozens of
  /// its elements are compared with their values after its last use. If they stay unchanged for some uses, it is
  /// tracked again; this takes more unchanged uses after every failure.
  bool worth_tracking(const operation::Operand& operand);

  /// Whether the operand is copied at every use now.
  bool copied(const operation::Operand& operand) const;

  /// A call that used the operand is over. Remembers some elements if the operand is copied at every use.
  void used(const operation::Operand& operand);

  /// A tracked operand is used again, and of its `pages` pages `written` were current and have been written since.
  /// True: copy it from now on.
  bool rewritten(const operation::Operand& operand, std::size_t written, std::size_t pages);

  /// The memory of the span is gone or new.
  void forget(platform::Span span);

 private:
  struct Matrix {
    bool copied = false;
    std::uint64_t fingerprint = 0;
    int unchanged_uses = 0;  ///< in a row
    int patience = 2;        ///< unchanged uses needed before it is tracked again; doubles with every failure
  };
  std::unordered_map<std::uintptr_t, Matrix> matrices_;  // by address of the first element
};

}  // namespace blastoff::residency::mirror
