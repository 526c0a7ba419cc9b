// Copies between pageable host memory and the device through page-locked buffers, by several threads.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "operation/operand.h"
#include "platform/worker_pool.h"

namespace blastoff::residency {

/// One rectangle to copy (or, with `part`, one triangle of n columns of `element_size`-byte elements). Only the bytes
/// of the block are read or written on either side, never the gaps between its columns.
struct Transfer {
  void* host = nullptr;
  device::Address device = 0;
  device::Block block;
  operation::Part part = operation::Part::full;
  std::size_t element_size = 1;
};

/// A pool of page-locked slots shared by all calls. Many threads may use it at once.
class Staging {
 public:
  virtual ~Staging() = default;

  /// Copies host memory into slots with several threads, while earlier slots are on their way to the device. Returns
  /// when all host memory has been read. Work that is queued later on `queue` finds the data on the device.
  virtual device::Status upload(std::span<const Transfer> transfers, device::Queue& queue) = 0;

  /// A download in progress. Used by the thread that started it.
  class Download {
   public:
    virtual ~Download() = default;  ///< waits, and discards what has not been written yet
    /// Blocks until all is in host memory. Host memory is written only after every byte of it has arrived without
    /// error. May be called again, for the same answer.
    virtual device::Status finish() = 0;
    /// True as soon as writing to host memory has started: in finish(), or already in download() if the download is
    /// larger than whole_download_bytes() and is written in parts.
    virtual bool host_touched() const = 0;
  };

  /// Downloads up to that many bytes (triangles counted as squares) fit into the slots all at once.
  virtual std::size_t whole_download_bytes() const = 0;

  /// Starts to copy what `queue` has computed up to now; `queue` and others may continue meanwhile.
  virtual device::Result<std::unique_ptr<Download>> download(std::span<const Transfer> transfers,
                                                             device::Queue& queue) = 0;
};

/// `slot_bytes` x `slots` of page-locked memory, allocated here.
device::Result<std::unique_ptr<Staging>> create_staging(device::Device& device, platform::WorkerPool& pool,
                                                        std::size_t slot_bytes, std::size_t slots);

}  // namespace blastoff::residency
