// Which part of a split call brings what. A matrix that several parts read, each on a device of its own, crosses the
// links to the host once: each part brings a slice of it, and takes the others from the places where they arrive, which
// the ledger tells.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "ledger/ledger.h"
#include "operation/operation.h"
#include "platform/span.h"

namespace blastoff::residency {

class PageLocks;

/// Whether the operation only reads this matrix: parts that do so share it.
bool only_reads(const operation::Operation& operation, const operation::Operand& matrix);

/// Thread-safe. A part goes through its operations in order; those of the same number are made at about the same time.
/// Ends with the call: nothing is *steady* any more. The places outlive it.
class Sharing {
 public:
  /// The operations of each part.
  explicit Sharing(std::vector<std::span<const operation::Operation>> parts);
  ~Sharing();
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  struct Slice {
    platform::Span pages;
    std::size_t part;  ///< that brings them
  };
  /// What other parts bring of the matrices that several parts read in their operations of the same number.
  std::vector<Slice> brought_by_others(std::size_t part, std::size_t number) const;

  /// What the part lacks for this operation is *arriving* at the place. Null: nothing is to be expected of the part.
  void claimed(std::size_t part, std::size_t number, ledger::Place* place);
  /// The part makes no more operations.
  void leave(std::size_t part);
  /// Waits until a part has claimed what it lacks, or until then. Null: it brings nothing.
  const ledger::Place* place_of(std::size_t part, std::size_t number, std::chrono::steady_clock::time_point until);

 private:
  template <class Visit>
  void each_common(std::size_t part, std::size_t number, Visit&& visit) const;

  const std::vector<std::span<const operation::Operation>> parts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> claimed_;    ///< by part: the operations for which it has
  std::vector<ledger::Place*> places_;  ///< by part: where
};

/// What an operation has from the call that it is a part of.
struct Shared {
  Sharing* sharing = nullptr;  ///< of a call that is split among devices; else null
  std::size_t part = 0;
  std::size_t number = 0;                 ///< of the operation, among the part's
  const PageLocks* page_locks = nullptr;  ///< on operands of a call that is made by copies; or null
  bool tell_places = false;               ///< in Traffic::places
};

}  // namespace blastoff::residency
