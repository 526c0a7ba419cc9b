// How much memory the process may take, as far as the system limits it.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

namespace blastoff::platform {

inline constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// Bytes of address space that may still be mapped (RLIMIT_AS and RLIMIT_DATA, less what is mapped); unlimited where
/// there is no limit.
std::size_t address_space_left();

/// Bytes of main memory for this process: the machine's, or less where its control groups say so.
std::size_t usable_memory();

/// What the control groups' files below `root` allow, for a process whose /proc/self/cgroup reads `groups`: the least
/// of a group and those that it lies in, of either version of the interface.
std::size_t memory_of_groups(std::string_view groups, std::string_view root);

}  // namespace blastoff::platform
