// What each kind of device (device/kinds.def) does in its own way where no device is open yet.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/driver_sharing.h"
#include "device/open.h"
#include "device/team.h"

namespace blastoff::device {

struct KindFunctions {
  /// See device::open(), list(), expected() and absence().
  Result<std::unique_ptr<Device>> (*open)(const Choice& choice);
  Result<int> (*count)(const Choice& choice);
  Expected (*expected)();
  std::string (*absence)();

  /// Null for a kind without a driver that programs use themselves. See device/driver_sharing.h.
  DriverUse (*driver_use)(const LibraryInProcess& library) = nullptr;
  bool (*is_name_of_drivers_thread)(std::string_view name) = nullptr;

  /// Null for a kind whose devices do not compute together. `ordinal`: Properties::index. See device/team.h.
  bool (*may_run_in_team)(const operation::Operation& operation) = nullptr;
  std::vector<Library> (*team_libraries)(int ordinal, const std::string& toolkit_path) = nullptr;
  Result<std::unique_ptr<TeamLibrary>> (*open_team_library)(int ordinal, const std::string& toolkit_path) = nullptr;
};

/// In the order of `kinds`.
extern const KindFunctions kind_functions[std::size(kinds)];

inline const KindFunctions& functions_of(const Kind& kind) {
  return kind_functions[&kind - kinds];
}

}  // namespace blastoff::device
