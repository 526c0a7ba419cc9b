// A device in its own address range. Its copies are memcpy, its arithmetic is the program's own BLAS, and its fresh
// memory holds NaN. Everything except speed can be tested on it.
//
// Work runs at once, in the calling thread. The CPU can access device memory until it is freed or unbacked. A copy or
// an operand outside device memory loses the device, as an illegal address does on a GPU.
//
// Choice::simulated_access selects other forms. Coherent, unified and pageable devices also compute with the program's
// own addresses. The coherent one's memory is a NUMA node: Choice::memory_node, else the first node without CPUs.
//
// Choice::simulated_rates gives the device a clock of its own (device/simulated/clock.h).
//
// Choice::simulated_fault makes one operation fail: see Faults::plan (device/simulated/faults.h) for the text and
// Operation for what can fail. "1/..." is a fault of simulated:1 alone.
//
// There may be several devices, each with memory of its own: simulated:N is device N, and any N is accepted.
#pragma once

#include "device/kind_functions.h"

namespace blastoff::device::simulated {

Result<std::unique_ptr<Device>> open(const Choice& choice);

/// Returns Choice::simulated_devices.
Result<int> count(const Choice& choice);

/// Returns nothing, since no machine model describes the device.
Expected expected();

/// See device::absence().
std::string absence();

inline constexpr KindFunctions functions_of_kind{
    .open = open, .count = count, .expected = expected, .absence = absence};

}  // namespace blastoff::device::simulated
