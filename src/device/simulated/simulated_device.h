// A device in its own address range whose copies are memcpy, whose arithmetic is the program's own BLAS, and whose
// fresh memory holds NaN. Everything but the speed can be proved on it.
//
// Work runs at once, in the calling thread. Device memory is accessible to the CPU, but no longer once it is freed or
// unbacked. A copy or an operand outside device memory loses the device, as an illegal address does on a GPU.
//
// Choice::simulated_access gives it other forms: coherent, unified and pageable ones compute with the program's own
// addresses too. The coherent one's memory is a NUMA node: Choice::memory_node, else the first without CPUs.
//
// Choice::simulated_fault makes one operation fail: see Faults::plan (device/simulated/faults.h) for the text and
// Operation for what can fail.
#pragma once

#include "device/open.h"

namespace blastoff::device::simulated {

Result<std::unique_ptr<Device>> open(const Choice& choice);

}  // namespace blastoff::device::simulated
