// Failures on demand, so that every error path of the modules above can be tested without a broken GPU.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "device/error.h"

namespace blastoff::device::simulated {

/// What can be made to fail. Names in a fault's text: the enumerators with '-' for '_'.
enum class Operation : std::uint8_t {
  allocate,
  reserve,
  back,
  staging,    // allocate_staging
  queue,      // create_queue
  event,      // create_event
  to_device,  // copy_to_device
  to_host,    // copy_to_host; a copy that fails as `lost` leaves rubbish in half of its destination block
  between,    // copy_between
  execute,
  record,
  wait,
  synchronize,  // of queues and events
};

/// Counts operations, makes one of them fail, and remembers a lost device. Shared by a device and all that it created.
class Faults {
 public:
  /// "" for none, or "OPERATION:N", "OPERATION:N:lost", "OPERATION:N:memory", "OPERATION:N:unsupported". The N-th
  /// operation (from 1) fails. With "lost", or without a third part, the device is lost from then on. With "memory" or
  /// "unsupported" that operation alone fails, with out_of_memory or unsupported. With "execute:N:wrong" that operation
  /// succeeds with a wrong number in its result.
  Status plan(const std::string& text);

  /// To be called at the start of every operation.
  Status check(Operation operation);

  /// To be called at the end of every operation that has computed. Whether its result is to be made wrong.
  bool spoils_result();

  /// Marks the device as lost.
  Error lose(std::string message);

 private:
  Error lost_error();

  Operation operation_{};
  std::uint64_t failing_ = 0;  ///< number of the operation that fails; 0: none
  ErrorKind kind_ = ErrorKind::lost;
  bool wrong_ = false;  ///< the operation does not fail: its result is wrong
  std::atomic<std::uint64_t> count_{0};
  std::atomic<bool> lost_{false};
  std::mutex mutex_;
  std::string cause_;
};

}  // namespace blastoff::device::simulated
