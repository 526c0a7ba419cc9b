// Finds the NUMA node of the device's memory, and binds memory to it.
#pragma once

#include <cstddef>
#include <string_view>

namespace blastoff::allocator {

/// A set of nodes, in the formats in which the kernel takes and prints it.
class NodeSet {
 public:
  static constexpr int capacity = 1024;

  /// Parses "0-1,8"; ignores what cannot be parsed.
  static NodeSet parse(std::string_view list);

  void add(int node) { words_[node / bits] |= 1UL << node % bits; }
  bool has(int node) const { return node >= 0 && node < capacity && (words_[node / bits] >> node % bits & 1) != 0; }
  NodeSet without(const NodeSet& other) const;
  int count() const;
  /// Returns the node with the index-th lowest number; -1 if there are fewer nodes.
  int at(int index) const;
  unsigned long* words() { return words_; }

 private:
  static constexpr int bits = 8 * sizeof(unsigned long);
  unsigned long words_[capacity / bits] = {};
};

/// The nodes that sysfs and the cpuset tell.
struct Nodes {
  NodeSet with_memory;
  NodeSet with_cpus;
  NodeSet allowed;
};
Nodes read_nodes();

/// The node to bind memory to. With a refusal, there is no such node (-1), or this process may not use it.
struct DeviceNode {
  int node = -1;
  const char* refusal = nullptr;
};

/// `chosen`: the user's choice of a node, or -1. `index`: the number of the device on this machine.
DeviceNode find_device_node(const Nodes& nodes, int chosen, unsigned index);

/// Prefers the node for future pages of the range; a full node is not an error. If it returns false, errno tells why.
bool bind(void* begin, std::size_t bytes, int node);

}  // namespace blastoff::allocator
