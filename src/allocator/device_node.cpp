#include "allocator/device_node.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <span>

namespace blastoff::allocator {

namespace {

// <numaif.h> belongs to libnuma, which we do not need.
constexpr int preferred = 1;                                // MPOL_PREFERRED
constexpr unsigned long mems_allowed = 4;                   // MPOL_F_MEMS_ALLOWED
constexpr unsigned long mask_bits = NodeSet::capacity + 1;  // the kernel uses one bit less

/// Reads a small file of sysfs into `buffer`; empty if there is none.
std::string_view read_file(const char* path, std::span<char> buffer) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t length = read(file, buffer.data(), buffer.size());
  close(file);
  return {buffer.data(), length < 0 ? 0 : static_cast<std::size_t>(length)};
}

NodeSet read_set(const char* path) {
  char text[4096];
  return NodeSet::parse(read_file(path, text));
}

}  // namespace

NodeSet NodeSet::parse(std::string_view list) {
  NodeSet set;
  const char* next = list.data();
  const char* const end = next + list.size();
  while (next < end) {
    int first = 0;
    auto [rest, error] = std::from_chars(next, end, first);
    if (error != std::errc{}) break;
    int last = first;
    if (rest < end && *rest == '-') rest = std::from_chars(rest + 1, end, last).ptr;
    for (int node = first; node >= 0 && node <= last && node < capacity; ++node) set.add(node);
    next = rest + 1;  // the comma
  }
  return set;
}

NodeSet NodeSet::without(const NodeSet& other) const {
  NodeSet result = *this;
  for (int word = 0; word < capacity / bits; ++word) result.words_[word] &= ~other.words_[word];
  return result;
}

int NodeSet::count() const {
  int count = 0;
  for (const unsigned long word : words_) count += std::popcount(word);
  return count;
}

int NodeSet::at(int index) const {
  for (int node = 0; node < capacity; ++node)
    if (has(node) && index-- == 0) return node;
  return -1;
}

Nodes read_nodes() {
  Nodes nodes;
  nodes.with_memory = read_set("/sys/devices/system/node/has_memory");
  if (nodes.with_memory.count() == 0) nodes.with_memory = read_set("/sys/devices/system/node/has_normal_memory");
  nodes.with_cpus = read_set("/sys/devices/system/node/has_cpu");
  if (syscall(SYS_get_mempolicy, nullptr, nodes.allowed.words(), mask_bits, nullptr, mems_allowed) != 0)
    nodes.allowed = nodes.with_memory;  // many containers forbid the system call: binding will show whether it is
                                        // possible
  return nodes;
}

DeviceNode find_device_node(const Nodes& nodes, int chosen, unsigned index) {
  const NodeSet candidates = nodes.with_memory.without(nodes.with_cpus);
  const int count = candidates.count();
  if (chosen < 0 && count == 0) return {-1, "no NUMA node has memory but no CPUs, as on a coherent machine"};
  const int node = chosen >= 0 ? chosen : candidates.at(static_cast<int>(index % static_cast<unsigned>(count)));
  if (!nodes.with_memory.has(node)) return {-1, "the NUMA node that BLASTOFF_DEVICE_NODE names has no memory"};
  if (!nodes.allowed.has(node)) return {node, "this process may not use the device's NUMA node (cpuset)"};
  return {node, nullptr};
}

bool bind(void* begin, std::size_t bytes, int node) {
  NodeSet only;
  only.add(node);
  return syscall(SYS_mbind, begin, bytes, preferred, only.words(), mask_bits, 0) == 0;
}

}  // namespace blastoff::allocator
