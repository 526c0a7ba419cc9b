// What several devices' mirrors give each other. A page that one device lacks and another one holds comes from there,
// and not once more over the link to the host.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "device/direct_copies.h"
#include "platform/span.h"
#include "residency/mirror/hold.h"
#include "residency/sharing.h"

namespace blastoff::residency::mirror {

class Coherence;

/// Pages of another device's mirror that may be copied from as long as this lives: their device memory is not evicted.
/// They hold what the borrowing call reads, as it was in host memory at some time since the borrower protected them.
/// Other bytes of these pages may be anything.
class Loan {
 public:
  explicit Loan(Coherence& lender) : lender_(&lender) {}
  ~Loan();
  Loan(Loan&& other) noexcept
      : runs(std::move(other.runs)),
        backings(std::move(other.backings)),
        lender_(std::exchange(other.lender_, nullptr)) {}
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  Loan& operator=(Loan&&) = delete;

  std::vector<PagesOnDevice> runs;  ///< ascending
  std::vector<Backing*> backings;   ///< held

 private:
  Coherence* lender_;
};

/// The mirrors of a process's devices. Thread-safe. Mirrors leave it when no call of another device is in flight.
class Exchange {
 public:
  void join(Coherence& mirrors, device::Device& device);
  void leave(Coherence& mirrors, device::Device& device);

  /// Whether the borrower's queues copy from any other device's memory.
  bool reaches(device::Device& borrower);
  bool reaches(device::Device& borrower, device::Device& lender) { return direct_copies_.possible(borrower, lender); }

  /// What other devices lend of `wanted`, whole pages of which the borrower holds nothing current, and which it has
  /// protected, so that it notices later writes. All is current there that the call reads. Each page comes at most
  /// once, and each loan is in the order of `wanted`. Waits for no call. The borrower must hold none of its own locks.
  std::vector<Loan> borrow(const Coherence& borrower, device::Device& to, const operation::Operation& call,
                           std::vector<platform::Span> wanted);

 private:
  using Member = std::pair<Coherence*, device::Device*>;
  std::vector<Member> members();

  std::mutex mutex_;
  std::vector<Member> members_;
  device::DirectCopies direct_copies_;
};

}  // namespace blastoff::residency::mirror
