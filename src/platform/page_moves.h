// Moving memory from one NUMA node to another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "platform/span.h"

namespace blastoff::platform {

/// Why pages are not on the node where they were to go. They work where they are, only slower.
enum class LeftBehind : std::uint8_t {
  absent,     ///< there is no page, or the kernel's page of zeros: nobody has written there yet
  shared,     ///< mapped by other processes too
  busy,       ///< held by somebody (a device, direct I/O) in spite of a second try
  no_room,    ///< the node is full
  forbidden,  ///< the node is not this process's to use (cpuset), or is none
};
inline constexpr std::size_t left_behind_count = 5;
const char* describe(LeftBehind reason);

/// What became of a span, in bytes.
struct Moved {
  std::uint64_t there = 0;   ///< on the node before
  std::uint64_t moved = 0;   ///< to it
  std::uint64_t filled = 0;  ///< absent before; now there, all zeros
  std::array<std::uint64_t, left_behind_count> left{};

  Moved& operator+=(const Moved& other);
  std::uint64_t on_node() const { return there + moved + filled; }
  std::uint64_t left_bytes() const;
};

/// Moves the pages of `spans` (ascending, disjoint, whole pages) to `node`, where they stay until somebody moves them
/// or they are freed. `fill`: puts pages where there are none too, so that the first use does not put them elsewhere.
/// Uses the calling thread alone; several threads may move parts of one matrix at once. Memory is whole at every
/// moment: whoever uses a page meanwhile waits for it.
Moved move_to_node(std::span<const Span> spans, int node, bool fill);

/// Pages to move in one go: few enough that threads can share a matrix of 64 KiB pages, many enough that what a system
/// call costs by itself (it drains the CPUs' lists of pages) does not count.
inline constexpr std::size_t pages_per_move = 8192;

/// Bytes of `span` that lie on `node` now, asked of the kernel page by page.
std::uint64_t bytes_on_node(Span span, int node);

}  // namespace blastoff::platform
