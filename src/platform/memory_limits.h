// The system's limits on the memory of this process.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace blastoff::platform {

inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// Bytes of address space that may still be mapped (RLIMIT_AS and RLIMIT_DATA, minus what is mapped); unlimited without
/// such limits.
std::size_t address_space_left();

/// Bytes of main memory for this process: the machine's, or less if its control groups limit it.
std::size_t usable_memory();

/// Bytes of main memory that the kernel can still give to this process, without swapping and within the limits of its
/// control groups; unlimited if it does not say.
std::size_t memory_left();

/// The limit in the control groups' files below `root`, for a process whose /proc/self/cgroup reads `groups`: the
/// smallest of a group's and its ancestors' limits, in either version of the interface.
std::size_t memory_of_groups(std::string_view groups, std::string_view root);

/// The same of what the groups have not used up, without pages of files that the kernel would give back.
std::size_t memory_left_in_groups(std::string_view groups, std::string_view root);

}  // namespace blastoff::platform
