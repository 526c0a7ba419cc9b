// What every device offers: memory, queues of copies and operations, pinned host memory.
//
// Nothing here knows host page states or residency policies. All functions may be called from any thread, except that
// one Queue serves one thread at a time. No function throws. A call leaves the calling thread's own device context,
// current device and stream as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/address.h"
#include "device/error.h"
#include "device/library.h"
#include "device/memory_accountant.h"
#include "device/permutation.h"
#include "operation/host.h"

namespace blastoff::device {

/// How the device reaches the program's own memory.
enum class HostAccess : std::uint8_t {
  none,      ///< only by copies
  pageable,  ///< by page faults, on which pages migrate (HMM)
  coherent,  ///< through the CPU's page tables: pages are used wherever they are (Grace-Hopper)
  unified,   ///< like the CPU: both share one memory (MI300A)
};
const char* to_string(HostAccess access);

struct Properties {
  std::string kind;                     ///< name in device/kinds.def
  std::string name;                     ///< "NVIDIA H100 80GB HBM3"
  int index = 0;                        ///< ordinal among the devices of its kind
  std::string bus;                      ///< its place on the bus: "0000:17:00.0"; "" if it has none
  bool concurrent = false;              ///< several processes compute at the same time, by way of a server
  bool exclusive = false;               ///< without such a server, one process at a time may use it
  int sharers = 1;                      ///< processes of this run that use it or are going to, including this one
  std::string software;                 ///< the driver's version, one line; see Device::software()
  std::size_t total_memory = 0;         ///< bytes
  double peak_single = 0;               ///< operations per second in single precision, without tensor cores; 0: unknown
  double peak_double = 0;               ///< the same in double precision
  bool can_reserve = false;             ///< reserve/back/unback work (virtual memory management)
  std::size_t backing_granularity = 0;  ///< bytes; spans of back() are multiples of it
  std::size_t largest_reservation = 0;  ///< the most bytes that one reserve() may ask for
  HostAccess host_access = HostAccess::none;
  int memory_node = -1;  ///< NUMA node of the device's memory; -1: the memory is no node
  bool can_pin = false;  ///< pin/unpin work, and copies into pinned memory bypass the CPU's page table
};

/// Free and total device memory, in bytes.
struct MemoryInfo {
  std::size_t free = 0;
  std::size_t total = 0;
};

/// A rectangle: `columns` runs of `column_bytes` bytes each; consecutive runs start `pitch` bytes apart.
struct Block {
  std::size_t column_bytes = 0;
  std::size_t columns = 1;
  std::size_t host_pitch = 0;
  std::size_t device_pitch = 0;
};

/// One triangle of a square matrix, with its diagonal, restricted to the square blocks along the diagonal. These have
/// order `block_order` and begin with the first element; the last is cut off by the end of the matrix.
struct Triangle {
  std::int64_t order = 0;        ///< of the matrix
  std::int64_t block_order = 0;  ///< at least 1; `order` or more: the whole triangle
  std::size_t element_size = 0;  ///< bytes
  operation::Part part = operation::Part::upper;
  std::size_t host_pitch = 0;  ///< bytes from one column's start to the next
  std::size_t device_pitch = 0;
};

/// A point in a queue, for which other queues and the host can wait. It can be recorded again at once: a wait concerns
/// the latest record() before the wait.
class Event {
 public:
  virtual ~Event() = default;
  /// Blocks until everything queued before the last record() has run.
  virtual Status synchronize() = 0;
};

/// Copies and operations that run in order. Every function may return before the device has done the work; the
/// simulated device may do it at once. Errors of the work itself are returned by synchronize() at the latest.
class Queue {
 public:
  virtual ~Queue() = default;

  /// Host memory must stay valid until the copy has run. Copies between the device and staging or pinned memory are
  /// asynchronous and run at link speed. Other host memory also works, but slowly.
  virtual Status copy_to_device(Address destination, const void* source, const Block& block) = 0;
  virtual Status copy_to_host(void* destination, Address source, const Block& block) = 0;

  /// Copies many runs, in any order, in less time than one copy for each. Only from staging or pinned memory.
  virtual Status copy_runs_to_device(std::span<const Run> runs);

  /// Writes exactly the elements of the triangle, from device to *pinned* host memory; the addresses are those of the
  /// matrix. ErrorKind::unsupported without can_pin.
  virtual Status copy_triangle_to_host(void* destination, Address source, const Triangle& triangle) = 0;

  /// Runs the operation. Operand addresses are device addresses (Operand::address holds the Address) or, with a
  /// HostAccess, the program's own. They must be multiples of the element size (otherwise unsupported). `host` is the
  /// program's own library, for devices that compute with it; it must outlive the work. An operation that may fail has
  /// run when this returns, and its result has been checked. ErrorKind::failed: there is no result, the operands'
  /// device memory is undefined, and no host vector has been written.
  virtual Status execute(const operation::Operation& operation, const operation::Host& host) = 0;

  /// Whether a library would make copies between the device and memory from malloc if it executed this operation now.
  /// Such memory may lie on pages that were pinned for matrices since freed. So nothing may be pinned from before the
  /// operation's operands are acquired until its end.
  virtual bool copies_heap_memory(const operation::Operation&) { return false; }

  /// Copies elements within device memory as the permutation says. Both addresses must be multiples of the element
  /// size.
  virtual Status permute(Address destination, Address source, const Permutation& permutation);

  /// Copies directly from the memory of another device (see Device::copies_from) to this device's memory.
  virtual Status copy_between(Address destination, Address source, std::size_t bytes);

  /// Asks that [address, address + bytes) of the program's memory migrate to the device, if HostAccess is pageable or
  /// coherent (otherwise unsupported). Only a hint: the memory can be used either way.
  virtual Status prefetch(const void* address, std::size_t bytes) = 0;

  virtual Status record(Event& event) = 0;
  /// Later work of this queue waits for the event, on the device.
  virtual Status wait(Event& event) = 0;
  /// Blocks until all work of this queue has run.
  virtual Status synchronize() = 0;
};

/// Seconds by a clock of the device's own, on which nothing overlaps.
struct OwnTime {
  double total = 0;
  double copying = 0;  ///< part of `total`
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const Properties& properties() const = 0;
  virtual Result<MemoryInfo> memory_info() = 0;

  /// The account of this device's memory: who holds it, and how much each may hold. It covers allocate(), back(), and
  /// the workspaces of queues.
  virtual MemoryAccountant& accountant() = 0;

  /// The time of the device's work so far, by a clock of its own; nullopt if real time counts.
  virtual std::optional<OwnTime> own_time() const { return std::nullopt; }

  /// One line: the versions of the driver and of the libraries that have been used so far.
  virtual std::string software() { return properties().software; }

  /// Looks for every library that can compute on this device, and opens those that are there.
  virtual std::vector<Library> libraries() { return {}; }

  /// To be called before the operands of an operation are acquired: opens the library that runs it.
  /// ErrorKind::unsupported: no library runs it.
  virtual Status prepare(const operation::Operation&) { return {}; }

  virtual Result<std::unique_ptr<Queue>> create_queue() = 0;
  virtual Result<std::unique_ptr<Event>> create_event() = 0;

  /// Makes a queue from a stream of the program, by the handle that the device's driver gave the program. The stream
  /// stays the program's, and outlives the queue. A wrong handle shows when it is first used: unsupported.
  virtual Result<std::unique_ptr<Queue>> adopt_queue(void* stream);

  /// Whether queues of this device can copy from the memory of the other one without passing through the host. If so,
  /// permits it.
  virtual bool copies_from(Device&) { return false; }

  /// Makes the device's context current on the calling thread until leave(), for libraries that are given addresses in
  /// device memory. Each enter() needs one leave() on the same thread.
  virtual Status enter() { return {}; }
  virtual void leave() {}

  /// Plain device memory, at least 256-byte aligned, contents undefined (simulated: NaN).
  virtual Result<Address> allocate(MemoryClient client, std::size_t bytes) = 0;
  virtual void free(Address address) = 0;

  /// A range of device addresses without memory behind it, aligned to the backing granularity.
  virtual Result<Address> reserve(std::size_t bytes) = 0;
  virtual void release(Address address, std::size_t bytes) = 0;
  /// Puts memory behind [address, address + bytes) of a reservation. Both are multiples of the granularity, and nothing
  /// in the range may have memory yet. Contents are undefined (simulated: NaN).
  virtual Status back(MemoryClient client, Address address, std::size_t bytes) = 0;
  /// Removes exactly what one back() added. No work that uses it may be in flight.
  virtual void unback(Address address, std::size_t bytes) = 0;

  /// Page-locked host memory that Blastoff allocates for staging. Freed with free_staging.
  virtual Result<void*> allocate_staging(std::size_t bytes) = 0;
  virtual void free_staging(void* address, std::size_t bytes) = 0;

  /// Whether the program uses the device's driver itself (device/driver_sharing.h).
  virtual bool used_by_program() { return false; }

  /// Whether pin() may be used now: it works on this device, and the program does not use the device's driver itself
  /// (device/driver_sharing.h).
  virtual bool may_pin() { return properties().can_pin; }
  /// Page-locks existing host memory [address, address + bytes), page-aligned, not overlapping an earlier pin.
  virtual Status pin(void* address, std::size_t bytes) = 0;
  /// Undoes exactly one pin(), also if the memory has been unmapped since. No copy may be in flight.
  virtual void unpin(void* address, std::size_t bytes) = 0;
  /// True if the program itself registered this host memory with the device (cudaHostRegister, cudaMallocHost, managed
  /// memory). The device may then write it without a trace in the page table.
  virtual bool registered_by_program(const void* address) = 0;
};

/// The three queues of one call: uploads, arithmetic and downloads can overlap.
struct CallQueues {
  std::unique_ptr<Queue> upload;
  std::unique_ptr<Queue> compute;
  std::unique_ptr<Queue> download;
};

}  // namespace blastoff::device
