// What an operation that may fail is about to overwrite on the device, where nobody else has it.
#pragma once

#include "device/device.h"
#include "device/memory_pool.h"
#include "operation/operation.h"
#include "residency/mirror/page_acquisition.h"

namespace blastoff::residency::mirror {

/// Copies of the operands that a call reads and overwrites, in device memory, until the call has succeeded. The CPU can
/// then make a call that has failed on the device, though the contents had stayed there.
class OperandBackup {
 public:
  /// Copies the mirrored operands, in the order of the queue. The acquisition must outlive this object.
  device::Status make(const PageAcquisition& acquisition, device::MemoryPool& pool, device::Queue& queue);
  /// Whether make() has succeeded.
  bool made() const { return acquisition_ != nullptr; }

  /// Puts the operands back, and waits until they are.
  device::Status restore(device::Queue& queue);

 private:
  const PageAcquisition* acquisition_ = nullptr;
  PageAcquisition::PerOperand<device::PooledMemory> copies_;
};

}  // namespace blastoff::residency::mirror
