#include "device/driver_sharing.h"

#include <algorithm>
#include <atomic>

#include "device/kind_functions.h"

namespace blastoff::device {
namespace {

constinit std::atomic<bool> used{false};
constinit std::atomic<bool> present{false};

}  // namespace

bool note_library(const LibraryInProcess& library) {
  DriverUse use = DriverUse::none;
  for (const KindFunctions& kind : kind_functions)
    if (kind.driver_use != nullptr) use = std::max(use, kind.driver_use(library));
  if (use != DriverUse::none) present = true;
  return use == DriverUse::used && !used.exchange(true);
}

void assume_shared_driver() {
  present = true;
  used = true;
}

bool program_uses_driver() {
  return used.load(std::memory_order_relaxed);
}

bool others_have_driver() {
  return present.load(std::memory_order_relaxed);
}

bool is_drivers_thread_for_us(std::string_view name) {
  return !others_have_driver() && std::ranges::any_of(kind_functions, [&](const KindFunctions& kind) {
    return kind.is_name_of_drivers_thread != nullptr && kind.is_name_of_drivers_thread(name);
  });
}

}  // namespace blastoff::device
