// The kind of memory at an address, and who else may write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "platform/span.h"

namespace blastoff::platform {

enum class MemoryKind : std::uint8_t {
  anonymous,    ///< private, anonymous, writable: heap, mmap, .bss, thread stacks
  object_data,  ///< the initialised data of a loaded object (.data), with the begin of its .bss
  stack,        ///< the main thread's stack, which grows
  shared,       ///< MAP_SHARED or System V: other processes may write it
  file,         ///< a private mapping of another file
  huge_tlb,     ///< hugetlbfs
  other,        ///< unmapped, unreadable, device memory: anything not known to be safe
};

const char* describe(MemoryKind kind);

/// Whether no other process writes the memory.
constexpr bool is_private_data(MemoryKind kind) {
  return kind <= MemoryKind::object_data;
}

/// The kind of memory of the whole `span` (the least safe one if it covers several mappings), and the extent of the
/// adjacent mappings of the same kind and protection around it. Initialised data and the .bss that follows it may be
/// in one span. The extent is the span if its mappings differ otherwise. Asks the kernel; takes some microseconds to a
/// millisecond.
struct Mapping {
  MemoryKind kind = MemoryKind::other;
  Span extent;
};
Mapping find_mapping(Span span);

/// Whether the program may write all of `span`. Takes about a microsecond if the kernel can report single mappings
/// (Linux 6.11). Otherwise all mappings must be read, which takes tens of microseconds and more: then the answer is
/// nullopt unless `at_any_price`.
std::optional<bool> writable(Span span, bool at_any_price);

}  // namespace blastoff::platform
