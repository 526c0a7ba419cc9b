// Copies between pageable host memory and the device through page-locked buffers, by several threads.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "operation/operand.h"
#include "platform/worker_pool.h"

namespace blastoff::residency {

/// One rectangle (or, with `part`, one triangle of n columns of `element_size`-byte elements) to move.
/// Only the block's bytes are ever read or written on either side, never the gaps between its columns.
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

  /// Gathers host memory into slots with several threads while earlier slots are on their way. Returns when all host
  /// memory has been read; work queued later on `queue` finds the data on the device.
  virtual device::Status upload(std::span<const Transfer> transfers, device::Queue& queue) = 0;

  /// A download under way. Used by the thread that started it.
  class Download {
   public:
    virtual ~Download() = default;  ///< waits, and discards what has not been written yet
    /// Blocks until all is in host memory. Host memory is written only after every byte of it has arrived without
    /// error. May be called again, for the same answer.
    virtual device::Status finish() = 0;
    /// True once host memory has begun to be written: by finish(), or already by download() where that is larger than
    /// whole_download_bytes() and comes home in parts.
    virtual bool host_touched() const = 0;
  };

  /// Downloads of that many bytes, triangles counted as squares, have their place in slots all at once.
  virtual std::size_t whole_download_bytes() const = 0;

  /// Starts copying what `queue` has computed by then; `queue` (and others) may go on meanwhile.
  virtual device::Result<std::unique_ptr<Download>> download(std::span<const Transfer> transfers,
                                                             device::Queue& queue) = 0;
};

/// `slot_bytes` x `slots` of page-locked memory, allocated here.
device::Result<std::unique_ptr<Staging>> create_staging(device::Device& device, platform::WorkerPool& pool,
                                                        std::size_t slot_bytes, std::size_t slots);

}  // namespace blastoff::residency
