#include "platform/pci.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "platform/kernel_list.h"
#include "platform/threads.h"

namespace blastoff::platform {

std::optional<int> own_cpus_near(const std::string& device, const std::string& devices) {
  std::ifstream file(devices + "/" + device + "/local_cpulist");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::vector<int> near = parse_kernel_list(line);
  if (near.empty()) return std::nullopt;
  return static_cast<int>(std::count_if(near.begin(), near.end(), is_own_cpu));
}

}  // namespace blastoff::platform
