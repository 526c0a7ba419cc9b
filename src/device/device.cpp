#include "device/device.h"

namespace blastoff::device {

Status Queue::copy_runs_to_device(std::span<const Run> runs) {
  for (const Run& run : runs)
    if (auto queued = copy_to_device(run.device, run.host, {run.bytes, 1, run.bytes, run.bytes}); !queued)
      return queued;
  return {};
}

Status Queue::permute(Address, Address, const Permutation&) {
  return tl::unexpected(Error{ErrorKind::unsupported, "this device does not permute tensors"});
}

Status Queue::copy_between(Address, Address, std::size_t) {
  return tl::unexpected(Error{ErrorKind::unsupported, "this device does not copy from others"});
}

Result<std::unique_ptr<Queue>> Device::adopt_queue(void*) {
  return tl::unexpected(Error{ErrorKind::unsupported, "this device has no streams of the program's"});
}

}  // namespace blastoff::device
