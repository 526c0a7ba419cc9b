#include "platform/numa.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "platform/kernel_list.h"

namespace blastoff::platform {
namespace {

constexpr const char* nodes_directory = "/sys/devices/system/node/";
constexpr const char* huge_pages_directory = "/sys/kernel/mm/transparent_hugepage/";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool contains(const std::vector<int>& set, int member) {
  return std::find(set.begin(), set.end(), member) != set.end();
}

/// The nodes of the process's cpuset.
std::vector<int> allowed_nodes() {
  std::ifstream status("/proc/self/status");
  constexpr std::string_view key = "Mems_allowed_list:\t";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return parse_kernel_list(std::string_view(line).substr(key.size()));
  return {};
}

/// Bytes from a line such as "Node 1 MemFree:  123 kB".
std::size_t meminfo_bytes(const std::string& text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + key.size(), nullptr, 10) * 1024;
}

NumaNode read_node(int id) {
  std::ifstream file(nodes_directory + ("node" + std::to_string(id)) + "/meminfo");
  std::stringstream text;
  text << file.rdbuf();
  NumaNode node;
  node.id = id;
  node.bytes = meminfo_bytes(text.str(), "MemTotal:");
  node.free_bytes = meminfo_bytes(text.str(), "MemFree:");
  return node;
}

}  // namespace

std::vector<NumaNode> numa_nodes() {
  const std::vector<int> with_cpus = parse_kernel_list(first_line(nodes_directory + std::string("has_cpu")));
  const std::vector<int> allowed = allowed_nodes();
  std::vector<NumaNode> nodes;
  for (const int id : parse_kernel_list(first_line(nodes_directory + std::string("online")))) {
    NumaNode node = read_node(id);
    node.has_cpus = contains(with_cpus, id);
    node.allowed = allowed.empty() || contains(allowed, id);
    nodes.push_back(node);
  }
  return nodes;
}

std::optional<NumaNode> numa_node(int id) {
  for (const NumaNode& node : numa_nodes())
    if (node.id == id) return node;
  return std::nullopt;
}

std::vector<int> nodes_without_cpus() {
  std::vector<int> ids;
  for (const NumaNode& node : numa_nodes())
    if (node.bytes > 0 && !node.has_cpus) ids.push_back(node.id);
  return ids;
}

bool automatic_numa_balancing() {
  const std::string text = first_line("/proc/sys/kernel/numa_balancing");
  return !text.empty() && text != "0";
}

std::string transparent_huge_pages() {
  const std::string text = first_line(huge_pages_directory + std::string("enabled"));
  const std::size_t begin = text.find('[');
  return begin == std::string::npos ? "" : text.substr(begin + 1, text.find(']') - begin - 1);
}

std::size_t huge_page_size() {
  return std::strtoull(first_line(huge_pages_directory + std::string("hpage_pmd_size")).c_str(), nullptr, 10);
}

}  // namespace blastoff::platform
