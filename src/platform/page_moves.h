// Moving memory from one NUMA node to another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "platform/span.h"

namespace blastoff::platform {

/// Why pages are not on the requested node. They can be used where they are, but more slowly.
enum class LeftBehind : std::uint8_t {
  absent,     ///< no page yet, or the kernel's page of zeros: not yet written
  shared,     ///< mapped by other processes too
  busy,       ///< held (by a device, by direct I/O), even at a second attempt
  no_room,    ///< the node is full
  forbidden,  ///< this process may not use the node (cpuset), or it does not exist
};
inline constexpr std::size_t left_behind_count = 5;
const char* describe(LeftBehind reason);

/// The result for a span, in bytes.
struct Moved {
  std::uint64_t there = 0;   ///< already on the node
  std::uint64_t moved = 0;   ///< moved to the node
  std::uint64_t filled = 0;  ///< absent before; now on the node, all zeros
  std::array<std::uint64_t, left_behind_count> left{};

  Moved& operator+=(const Moved& other);
  std::uint64_t on_node() const { return there + moved + filled; }
  std::uint64_t left_bytes() const;
};

/// Moves the pages of `spans` (ascending, disjoint, whole pages) to `node`. They stay there until they are freed or
/// moved again. `fill`: also allocates absent pages there, so that the first use does not place them elsewhere. Uses
/// only the calling thread; several threads may move parts of one matrix at once. Memory stays valid throughout: a
/// thread that uses a page meanwhile waits for it.
Moved move_to_node(std::span<const Span> spans, int node, bool fill);

/// Pages per system call: few enough that threads can share a matrix of 64 KiB pages, many enough that the fixed cost
/// of the call (it drains the CPUs' lists of pages) does not matter.
inline constexpr std::size_t pages_per_move = 8192;

/// Bytes of `span` that lie on `node` now; the kernel is asked about every page.
std::uint64_t bytes_on_node(Span span, int node);

/// The node on which most of some pages of `span` lie now, which are spread over it. Nothing: none of them has been
/// written yet, or the kernel does not tell.
std::optional<int> main_node(Span span);

}  // namespace blastoff::platform
