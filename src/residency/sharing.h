// What the parts of one call, each on a device of its own, bring together. A matrix that several of them read crosses
// the links to the host once: each part brings a slice of it, and takes the others from the devices that brought them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "operation/operation.h"
#include "platform/span.h"

namespace blastoff::residency {

/// Thread-safe. A part goes through its operations in order; those of the same number are made at about the same time.
class Sharing {
 public:
  /// The operations of each part.
  explicit Sharing(std::vector<std::span<const operation::Operation>> parts);

  /// Of a matrix that several parts read in their operations of the same number, what the others of these parts bring.
  std::vector<platform::Span> brought_by_others(std::size_t part, std::size_t number) const;

  /// The part has brought its slices for this operation, or will not: it has failed, needs nothing, or has gone on.
  void brought(std::size_t part, std::size_t number);
  /// The part makes no more operations.
  void leave(std::size_t part);

  /// Waits until all parts have brought their slices for the operations of this number. False: it took longer than
  /// that.
  bool wait(std::size_t number, double seconds);

 private:
  const std::vector<std::span<const operation::Operation>> parts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> done_;  ///< by part: the operations for which it has brought its slices
};

/// One operation among those of a split call.
struct Shared {
  Sharing* sharing = nullptr;  ///< null: the operation is no part of anything
  std::size_t part = 0;
  std::size_t number = 0;  ///< of the operation, among the part's
};

}  // namespace blastoff::residency
