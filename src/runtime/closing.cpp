#include "runtime/closing.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>

#include "device/device.h"
#include "intercept/loaded_objects.h"
#include "platform/fork_guard.h"
#include "platform/left_open.h"

namespace blastoff::runtime {
namespace {

namespace fs = std::filesystem;

/// For a program that has run for longer, a tenth of a second does not matter.
constexpr std::chrono::seconds longest_age{30};
/// The largest share of a device's memory that the process may hold.
constexpr double max_held = 0.25;

std::size_t bytes_held(device::Device& device) {
  const auto& clients = device::memory_clients;
  return std::accumulate(clients.begin(), clients.end(), std::size_t{0},
                         [&](std::size_t sum, auto client) { return sum + device.accountant().held(client).now; });
}

bool may_stay_open(device::Device& device) {
  const device::Properties& properties = device.properties();
  const double max_bytes = max_held * static_cast<double>(properties.total_memory);
  return !properties.by_server && !properties.exclusive && static_cast<double>(bytes_held(device)) <= max_bytes;
}

}  // namespace

bool may_close_later(const DeviceSet& devices, std::chrono::steady_clock::duration age) {
  return age <= longest_age && std::ranges::all_of(devices.all(), [](DeviceContext* context) {
           return context->working() && may_stay_open(context->device());
         });
}

std::string find_closer() {
  const platform::ForkGuard guard;
  const char* const own = intercept::path_of(reinterpret_cast<const void*>(&find_closer));
  if (own == nullptr) return "";
  std::error_code error;
  const fs::path folder = fs::absolute(own, error).parent_path();
  for (const char* const place : {"blastoff-closer", "blastoff/blastoff-closer"})
    if (fs::exists(folder / place, error)) return folder / place;
  return "";
}

void close_later(const DeviceSet& devices, const std::string& closer) {
  if (closer.empty()) return;
  const std::string& files = devices.all().front()->device().properties().driver_files;
  platform::leave_open(closer, platform::descriptors_of(files));
}

}  // namespace blastoff::runtime
