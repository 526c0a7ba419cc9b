// Residency: where are a call's operands on the device, and are they current?
//
// Whether it is worth it can be asked before (estimate). One call goes: begin (take hold of the operands), then for
// each panel acquire -> execute -> release, then finish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "operation/estimate.h"
#include "operation/operation.h"
#include "operation/traffic.h"
#include "platform/span.h"
#include "residency/page_locks.h"
#include "residency/sharing.h"

namespace blastoff::residency {

/// Where a matrix is, in bytes of its elements.
struct MatrixPlace {
  std::uint64_t on_device = 0;   ///< current there
  std::uint64_t only_there = 0;  ///< of these, not in host memory
  std::optional<int> node;       ///< of most of its pages, -1: not yet written; nothing unless the device uses them
};

struct MatrixPlaces {
  std::uint64_t bytes = 0;
  MatrixPlace before, after;  ///< the call
};

/// What one call moved. A policy does not count bytes_read.
struct Traffic : operation::TrafficCounters {
  bool runs_on = false;        ///< the call returns while the device still computes
  std::string copied_because;  ///< why an operand could not stay on the device, though it could have been used again
  std::vector<MatrixPlaces> places;  ///< of each matrix that may stay on the device; only if Shared::tell_places
};

/// Whether a failed call touched host memory.
enum class HostState : std::uint8_t {
  untouched,  ///< no byte of the panel's result was written: it can be computed on the CPU
  complete,   ///< the panel's result is in host memory
  torn,       ///< part of the result was written when the device was lost
};

/// The operands that one call has acquired. Used by one thread. Its destructor releases everything, whatever happened.
class Lease {
 public:
  virtual ~Lease() = default;

  /// The call, or each of a series, cut into panels over host addresses (operation::pieces); at least one.
  virtual const std::vector<operation::Operation>& panels() const = 0;

  /// Panel `index` with device addresses and device leading dimensions. When work that is queued now on queues.compute
  /// runs, the operands of the panel are on the device and current. Panels are acquired in order, each once.
  virtual device::Result<operation::Operation> acquire(std::size_t index) = 0;

  /// Called after the panel's operation has been queued on queues.compute. Starts the copy of its result to host
  /// memory.
  virtual device::Status release(std::size_t index) = 0;

  /// Waits until all results are in host memory, and updates the state of their pages.
  virtual device::Status finish() = 0;

  /// After any error: the state of panel `index` in host memory. No device work of this lease is in flight any more.
  virtual HostState host_state(std::size_t index) = 0;

  virtual const Traffic& traffic() const = 0;
};

/// The pages of operands that are used where they are, in bytes; each page counts once.
struct Migration {
  int node = -1;  ///< NUMA node to which they are moved
  std::uint64_t moved = 0;
  std::uint64_t there = 0;  ///< were there already
  std::uint64_t left = 0;   ///< stay elsewhere and are used from there
  std::vector<std::pair<std::string, std::uint64_t>> left_because;
  double seconds = 0;  ///< spent moving
};

/// Operations of vectors that are made where the vectors are.
struct VectorsThere {
  const operation::Operation& whole;
  /// Returns the parts of it that lie on these pages alone, over host addresses; they do not depend on each other.
  std::function<std::vector<operation::Operation>(std::span<const platform::Span> pages)> parts;
  const operation::Host& host;
  bool tell_elements = false;
};

/// One such part that the device makes. The elements of its operands, each without gaps, are told for verification:
/// as they were, and as they are.
struct PartThere {
  operation::Operation part;
  std::vector<std::vector<std::byte>> before, after;
};

class Policy : public operation::Estimator {
 public:
  virtual ~Policy() = default;

  /// "copy", "first-use", "coherent".
  virtual const char* name() const = 0;

  /// Whether operands stay on the device after a call, for later ones.
  virtual bool keeps_operands() const = 0;

  /// Acquires the call's operands; uploads may start. Transient operands are in device memory of the call's own. The
  /// caller must not use the queues otherwise until the lease is destroyed. An out_of_memory error means that this call
  /// does not fit: try another policy or the CPU.
  device::Result<std::unique_ptr<Lease>> begin(const operation::Operation& call, device::CallQueues& queues) {
    return begin_shared(call, queues, {});
  }

  /// The same for a part of a larger call.
  virtual device::Result<std::unique_ptr<Lease>> begin_shared(const operation::Operation& call,
                                                              device::CallQueues& queues, const Shared& shared) = 0;

  /// As begin(), for several operations of one routine that do not depend on each other. The lease's panels are those
  /// of all operations. While one operation runs, the operands that the next one needs whole are brought. An
  /// out_of_memory or unsupported error means that the operations have to be made one by one.
  virtual device::Result<std::unique_ptr<Lease>> begin_series(std::span<const operation::Operation>,
                                                              device::CallQueues&, const Shared&) {
    return tl::unexpected(device::Error{device::ErrorKind::unsupported, "this policy makes no series"});
  }

  /// For a call that is to go past this policy, block by block. Null: this policy page-locks nothing.
  virtual std::unique_ptr<PageLocks> lock_operands(const operation::Operation&) { return nullptr; }

  /// The CPU is about to make this call: what it writes need not be kept on the device, nor its writes be noticed.
  /// This only saves time.
  virtual void leave_to_cpu(const operation::Operation&) {}

  /// Makes those parts of the operation of which the device alone has all elements; they stay there. Appends them to
  /// `made`: all of them, unless it returns an error. They may run until later work on the device begins, or somebody
  /// looks at them.
  virtual device::Status make_there(const VectorsThere&, device::CallQueues&, std::vector<PartThere>&) { return {}; }

  /// What has been moved so far, for a policy that moves the operands themselves.
  virtual std::optional<Migration> migration() { return std::nullopt; }

  /// Ends all page locks on the program's memory; those of calls in flight end with these calls, which it does not wait
  /// for. True: none is left. To be called when Device::may_pin() has become false.
  virtual bool release_pins() { return true; }

  /// Gives back the device memory of operands that are kept between calls, and ends page locks, except for calls in
  /// flight. Later calls bring their operands anew.
  virtual void release_operands() {}

  /// Kinds of matrices that the program uses once and then frees or rewrites, for a later run of it with this version
  /// of the library. Nothing where that cannot be told now.
  virtual std::optional<std::vector<std::uint64_t>> used_once() { return std::nullopt; }
  /// What an earlier run said. To be called before the first call.
  virtual void expect_used_once(std::span<const std::uint64_t>) {}

  /// Stops the policy's own work between calls, and waits until it has stopped: the process is about to exit, and the
  /// device must not be used any more.
  virtual void stop() {}
};

}  // namespace blastoff::residency
