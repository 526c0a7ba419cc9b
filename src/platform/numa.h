// NUMA nodes: which exist, and which memory lies on them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace blastoff::platform {

struct NumaNode {
  int id = 0;
  std::size_t bytes = 0;  ///< 0: no memory
  std::size_t free_bytes = 0;
  bool has_cpus = false;
  bool allowed = true;  ///< the process may have memory on it (cpuset)
};

/// The nodes that are online, by ascending number; empty if the kernel knows no nodes.
std::vector<NumaNode> numa_nodes();
std::optional<NumaNode> numa_node(int id);

/// The nodes with memory and without CPUs: memories of coherent devices.
std::vector<int> nodes_without_cpus();

/// Whether the kernel moves pages between nodes on its own (AutoNUMA, /proc/sys/kernel/numa_balancing).
bool automatic_numa_balancing();

/// transparent_huge_pages(): "always", "madvise" or "never"; "" if the kernel has no transparent huge pages.
/// huge_page_size(): bytes of one.
std::string transparent_huge_pages();
std::size_t huge_page_size();

}  // namespace blastoff::platform
