#include "device/team.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/kind_functions.h"

namespace blastoff::device {
namespace {

const KindFunctions& functions_for(const Device& device) {
  return functions_of(*find_kind(device.properties().kind)->kind);
}

}  // namespace

bool may_run_in_team(const operation::Operation& operation) {
  return std::ranges::any_of(kind_functions, [&](const KindFunctions& kind) {
    return kind.may_run_in_team != nullptr && kind.may_run_in_team(operation);
  });
}

std::vector<Library> team_libraries(const Device& device, const std::string& toolkit_path) {
  const auto function = functions_for(device).team_libraries;
  return function != nullptr ? function(device.properties().index, toolkit_path) : std::vector<Library>{};
}

Result<std::unique_ptr<TeamLibrary>> open_team_library(const Device& device, const std::string& toolkit_path) {
  const auto function = functions_for(device).open_team_library;
  if (function != nullptr) return function(device.properties().index, toolkit_path);
  return tl::unexpected(Error{ErrorKind::unsupported,
                              fmt::format("devices of kind \"{}\" do not compute together", device.properties().kind)});
}

}  // namespace blastoff::device
