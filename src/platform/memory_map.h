// What kind of memory lies at an address, and who else may write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/span.h"

namespace blastoff::platform {

enum class MemoryKind : std::uint8_t {
  anonymous,  ///< private, anonymous, writable: heap, mmap, .bss, thread stacks
  stack,      ///< the main thread's stack, which grows
  shared,     ///< MAP_SHARED or System V: other processes may write it
  file,       ///< a private mapping of a file, .data included
  huge_tlb,   ///< hugetlbfs
  other,      ///< unmapped, unreadable, device memory: anything not known to be safe
};

const char* describe(MemoryKind kind);

/// The kind of all of `span` (the most suspect where it covers several mappings), and the extent of the adjacent
/// mappings of that same kind and protection around it. Asks the kernel; some microseconds to a millisecond.
struct Mapping {
  MemoryKind kind = MemoryKind::other;
  Span extent;
};
Mapping find_mapping(Span span);

/// A writer that page tracking cannot see, if this process has one now: memory pinned for somebody else than us (VmPin:
/// a network card, buffers registered with io_uring), memory attached by other processes (XPMEM). The text names it.
/// Some microseconds. `own_pins`: what of VmPin is ours, in kilobytes; what NVIDIA's driver pins is not counted there.
std::optional<std::string> foreign_writer(std::size_t own_pins);

/// Kilobytes pinned for devices in this process, as VmPin of /proc/self/status says.
std::size_t pinned_kilobytes();

}  // namespace blastoff::platform
