#include "device/device.h"

namespace blastoff::device {

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
