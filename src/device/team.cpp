#include "device/team.h"

#include <fmt/format.h>

#include "device/gpu/cuda/team/cuda_team.h"

namespace blastoff::device {

bool may_run_in_team(const operation::Operation& operation) {
  return cuda::may_run_in_team(operation);
}

std::vector<Library> team_libraries(const Device& device, const std::string& cuda_path) {
  const Properties& properties = device.properties();
  return properties.kind == "cuda" ? cuda::team_libraries(properties.index, cuda_path) : std::vector<Library>{};
}

Result<std::unique_ptr<TeamLibrary>> open_team_library(const Device& device, const std::string& cuda_path) {
  const Properties& properties = device.properties();
  if (properties.kind == "cuda") return cuda::open_team_library(properties.index, cuda_path);
  return tl::unexpected(
      Error{ErrorKind::unsupported, fmt::format("devices of kind \"{}\" do not compute together", properties.kind)});
}

}  // namespace blastoff::device
