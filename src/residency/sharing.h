// What the parts of one call, each on a device of its own, bring together. A matrix that several of them read crosses
// the links to the host once: each part brings a slice of it, and takes the others from the devices that brought them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "ledger/states.h"
#include "operation/operation.h"
#include "platform/span.h"

namespace blastoff::device {
class Device;
}  // namespace blastoff::device

namespace blastoff::residency {

class PageLocks;

/// Whether the operation only reads this matrix: parts that do so share it.
bool only_reads(const operation::Operation& operation, const operation::Operand& matrix);

using ledger::PagesOnDevice;

/// Pages that one part has brought from host memory, and that the others may copy from its device. Each byte of them
/// belongs to a matrix that they read, too: the program may not write it before the call is over. (Other bytes may have
/// been written since the page was brought, and other calls may be computing with the newer ones.)
struct Offer {
  device::Device* device = nullptr;
  std::vector<PagesOnDevice> runs;
};

/// Thread-safe. A part goes through its operations in order; those of the same number are made at about the same time.
class Sharing {
 public:
  class Taken;

  /// The operations of each part.
  explicit Sharing(std::vector<std::span<const operation::Operation>> parts);

  /// What other parts bring of the matrices that several parts read in their operations of the same number.
  std::vector<platform::Span> brought_by_others(std::size_t part, std::size_t number) const;
  /// The whole pages that such matrices fill.
  std::vector<platform::Span> filled_by_common(std::size_t part, std::size_t number) const;

  /// The part has brought its slices for this operation, or will not: it has failed, needs nothing, or has gone on.
  void brought(std::size_t part, std::size_t number);
  /// The part takes nothing more from the others for this operation.
  void supplied(std::size_t part, std::size_t number);
  /// The part makes no more operations.
  void leave(std::size_t part);

  /// Waits until all parts have brought their slices for the operations of this number. False: it took longer than
  /// that.
  bool wait(std::size_t number, double seconds);

  /// The other parts may copy these pages, until the part withdraws its offers.
  void offer(std::size_t part, std::size_t number, Offer offer);
  /// What the others offer now.
  Taken take(std::size_t part, std::size_t number);
  /// The part takes nothing more, and gives the others that long to take what it has offered for this operation. Then
  /// it waits until nobody copies from its device any more. It must have let go of what it took itself.
  void withdraw(std::size_t part, std::size_t number, double seconds);

 private:
  struct Offered {
    std::size_t part;
    std::size_t number;
    Offer offer;
    int takers = 0;
  };

  template <class Visit>
  void each_common(std::size_t part, std::size_t number, Visit&& visit) const;
  bool wait(std::unique_lock<std::mutex>& lock, const std::vector<std::size_t>& done, std::size_t number,
            double seconds);

  const std::vector<std::span<const operation::Operation>> parts_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> brought_;   ///< by part: the operations for which it has brought its slices
  std::vector<std::size_t> supplied_;  ///< by part: the operations for which it has all
  std::list<Offered> offers_;
};

/// Offers that are not withdrawn while this lives.
class Sharing::Taken {
 public:
  Taken() = default;
  ~Taken() { release(); }
  Taken(Taken&& other) noexcept : sharing_(other.sharing_), taken_(std::exchange(other.taken_, {})) {}
  Taken& operator=(Taken&& other) noexcept {
    release();
    sharing_ = other.sharing_;
    taken_ = std::exchange(other.taken_, {});
    return *this;
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Offered* const each : taken_) visit(each->offer);
  }
  /// Nothing is copied any more.
  void release();

 private:
  friend class Sharing;

  Sharing* sharing_ = nullptr;
  std::vector<Offered*> taken_;
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
