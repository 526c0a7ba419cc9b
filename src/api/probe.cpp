#include "api/probe.h"

#include <gnu/libc-version.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "device/team.h"
#include "intercept/patch/architecture.h"
#include "intercept/patch/entry_stub.h"
#include "platform/code_memory.h"
#include "platform/numa.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "runtime/device_choice.h"
#include "tracking/page_tracker.h"

namespace blastoff::api {

namespace {

using Json = nlohmann::ordered_json;

Json rank_json(int rank) {
  return rank < 0 ? Json(nullptr) : Json(rank);
}

Json system_json() {
  return {{"kernel", platform::kernel_release()},
          {"glibc", gnu_get_libc_version()},
          {"cpus", platform::cpu_count()},
          {"local_rank", rank_json(platform::local_rank())},
          {"global_rank", rank_json(platform::global_rank())}};
}

/// Describes the machine's memory: its nodes, its pages, and settings of the kernel.
Json memory_json() {
  Json nodes = Json::array();
  for (const platform::NumaNode& node : platform::numa_nodes()) {
    nodes.push_back({{"id", node.id},
                     {"bytes", node.bytes},
                     {"free_bytes", node.free_bytes},
                     {"has_cpus", node.has_cpus},
                     {"allowed", node.allowed}});
  }
  return {{"page_size", platform::page_size()},
          {"huge_page_size", platform::huge_page_size()},
          {"transparent_huge_pages", platform::transparent_huge_pages()},
          {"automatic_numa_balancing", platform::automatic_numa_balancing()},
          {"nodes", nodes}};
}

Json node_json(int node) {
  return node < 0 ? Json(nullptr) : Json(node);
}

Json failure(Json json, const std::string& error) {
  json["works"] = false;
  json["error"] = error;
  return json;
}

Json libraries_json(const std::vector<device::Library>& found) {
  Json libraries = Json::array();
  for (const device::Library& library : found)
    libraries.push_back({{"computes", library.computes}, {"version", library.version}, {"error", library.error}});
  return libraries;
}

Json device_json(const config::Settings& settings, const std::string& name) {
  const Json requested{{"requested", name}};
  const auto device = runtime::open_device(settings, name);
  if (!device) return failure(requested, device.error().message);
  const auto memory = (*device)->memory_info();
  if (!memory) return failure(requested, memory.error().message);
  const device::Properties& properties = (*device)->properties();
  return {{"requested", name},
          {"works", true},
          {"error", ""},
          {"kind", properties.kind},
          {"name", properties.name},
          {"index", properties.index},
          {"by_server", properties.concurrent},
          {"exclusive", properties.exclusive},
          {"libraries", libraries_json((*device)->libraries())},
          {"team_libraries", libraries_json(device::team_libraries(**device, settings.toolkit_path))},
          {"software", (*device)->software()},
          {"total_memory", memory->total},
          {"free_memory", memory->free},
          {"can_reserve", properties.can_reserve},
          {"can_pin", properties.can_pin},
          {"host_access", device::to_string(properties.host_access)},
          {"memory_node", node_json(properties.memory_node)}};
}

/// Describes each device that the settings name, or the reason why it cannot be opened. Returns at least one.
Json devices_json(const config::Settings& settings) {
  const Json requested{{"requested", settings.device}};
  if (settings.device == "none") return Json::array({failure(requested, "offloading is switched off")});
  const auto names = runtime::list_devices(settings);
  if (!names) return Json::array({failure(requested, names.error().message)});
  Json devices = Json::array();
  for (const std::string& name : *names) devices.push_back(device_json(settings, name));
  return devices;
}

/// Returns "" if a write to a protected page is noticed, otherwise the error. Some sandboxes accept the calls and do
/// nothing.
std::string try_tracking(tracking::PageTracker& tracker) {
  const std::size_t bytes = 2 * platform::page_size();
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return "no memory for the trial";
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const platform::Span span{begin, begin + bytes};
  const platform::Span second{begin + bytes / 2, span.end};
  std::vector<platform::Span> before;
  std::vector<platform::Span> written;
  std::string error;
  if (const auto tracked = tracker.track(span); !tracked) {
    error = tracked.error();
  } else if (tracker.scan(span, true, before) != tracking::PageTracker::Scan::ok) {
    error = "tracked memory cannot be scanned";
  } else {
    static_cast<volatile char*>(memory)[bytes / 2] = 1;
    const bool scanned = tracker.scan(span, false, written) == tracking::PageTracker::Scan::ok;
    if (!scanned || written != std::vector{second}) error = "a write to a protected page went unnoticed";
    tracker.untrack(span);
  }
  munmap(memory, bytes);
  return error;
}

Json tracker_json(const config::Settings& settings) {
  const auto tracker = tracking::open_page_tracker(runtime::tracker_kind(settings.tracker));
  if (!tracker) return failure({}, tracker.error());
  const std::string error = try_tracking(**tracker);
  return {{"works", error.empty()},
          {"error", error},
          {"name", (*tracker)->name()},
          {"fills_pages", (*tracker)->absent_pages() != nullptr}};
}

std::atomic<bool> made_code_ran{false};

void note_made_code() {
  made_code_ran = true;
}

/// Returns "" if the system allows new code near our own to be created and run, otherwise the error.
std::string try_making_code(platform::Span near) {
  namespace patch = intercept::patch;
  const auto target = reinterpret_cast<std::uintptr_t>(&note_made_code);
  const std::vector<std::byte> code = patch::entry_stub(patch::native, 0, target);
  const auto place = platform::reserve_near(near, code.size(), patch::native_short_reach);
  if (!place) return "no free memory near the program's code";
  if (!platform::map_code(*place, code)) return "the system does not allow new code";
  reinterpret_cast<void (*)()>(place->begin)();
  platform::release(*place);
  return made_code_ran ? "" : "new code does not run";
}

/// Returns "" if the system allows code that is mapped from a file to be written, otherwise the error. Writes the bytes
/// that are there already.
std::string try_writing_code(platform::Span code) {
  std::vector<std::byte> bytes(code.bytes());
  std::memcpy(bytes.data(), reinterpret_cast<const void*>(code.begin), bytes.size());
  return platform::CodeWriter(code).write(code.begin, bytes)
             ? ""
             : "the system does not allow a program's code to be changed";
}

Json patching_json() {
  const auto function = reinterpret_cast<std::uintptr_t>(&note_made_code);
  const platform::Span code{function, function + 1};
  std::string error = try_making_code(code);
  if (error.empty()) error = try_writing_code(code);
  return {{"works", error.empty()}, {"error", error}};
}

}  // namespace

std::string probe_json(const config::Settings& settings) {
  Json devices = devices_json(settings);
  const Json first = devices.front();
  devices.erase(0);
  Json echo = Json::object();
  for (const auto& [name, value] : describe(settings)) echo[name] = value;
  const Json probe{{"blastoff", BLASTOFF_VERSION}, {"system", system_json()},
                   {"memory", memory_json()},      {"device", first},
                   {"other_devices", devices},     {"tracker", tracker_json(settings)},
                   {"patching", patching_json()},  {"settings", echo}};
  return probe.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace blastoff::api
