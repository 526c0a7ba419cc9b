#include "device/gpu/choose_gpu.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "platform/numa.h"
#include "platform/pci.h"
#include "platform/peers.h"

namespace blastoff::device::cuda {
namespace {

constexpr int volta = 7;
constexpr int hopper = 9;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t max_to_reserve = std::size_t{1} << 40;

int attribute(const api::Driver& driver, api::CUdevice device, int which) {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, which, device) == api::success ? value : 0;
}

std::string name_of(const api::Driver& driver, api::CUdevice device) {
  char name[256] = "";
  if (driver.cuDeviceGetName(name, sizeof name, device) != api::success) return "unknown GPU";
  return name;
}

/// The N of "cuda:N"; nullopt for "cuda" and if N is no number.
std::optional<int> requested_ordinal(std::string_view name) {
  const auto colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = name.substr(colon + 1);
  int ordinal = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  return error == std::errc{} && end == number.data() + number.size() ? ordinal : -1;
}

std::string list_gpus(const api::Driver& driver, int count) {
  std::string list;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    list += fmt::format("{}cuda:{} ({})", ordinal == 0 ? "" : ", ", ordinal, name_of(driver, ordinal));
  }
  return list;
}

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

/// The version of the kernel module, such as "580.65.06"; the library does not report it.
std::string module_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  return std::getline(file, version) ? version : "";
}

/// CudaDevice::software() adds the libraries' versions.
std::string describe_driver(const Context& context) {
  int cuda = 0;
  context.driver().cuDriverGetVersion(&cuda);
  const auto module = module_version();
  return fmt::format("driver {}{}CUDA {}.{}", module, module.empty() ? "" : ", ", cuda / 1000, cuda % 1000 / 10);
}

/// Probes, since the driver's limit depends on the machine. Reserved device addresses cost nothing but future page
/// tables.
std::size_t probe_largest_reservation(const api::Driver& driver, std::size_t granularity) {
  for (std::size_t bytes = max_to_reserve; bytes >= granularity; bytes /= 2) {
    api::CUdeviceptr address = 0;
    if (driver.cuMemAddressReserve(&address, bytes, granularity, 0, 0) != api::success) continue;
    driver.cuMemAddressFree(address, bytes);
    return bytes;
  }
  return 0;
}

/// How many multiplications with an addition a multiprocessor does in a cycle (CUDA C++ Programming Guide, "Throughput
/// of Native Arithmetic Instructions"). Later GPUs count like the last that is known.
struct Arithmetic {
  int in_single = 128;
  int in_double = 2;
};
Arithmetic arithmetic_of(int major, int minor) {
  switch (10 * major + minor) {
    case 70: return {64, 32};
    case 72:
    case 75: return {64, 2};
    case 80: return {64, 32};
    case 90: return {128, 64};
    case 100: return {128, 64};
    default: return {};
  }
}

void inspect_peak_rates(const api::Driver& driver, api::CUdevice device, Properties& properties) {
  const auto [in_single, in_double] = arithmetic_of(attribute(driver, device, api::attribute_compute_capability_major),
                                                    attribute(driver, device, api::attribute_compute_capability_minor));
  const double cycles = 1e3 * attribute(driver, device, api::attribute_clock_rate) *
                        attribute(driver, device, api::attribute_multiprocessor_count);
  properties.peak_single = 2 * cycles * in_single;
  properties.peak_double = 2 * cycles * in_double;
}

void inspect_virtual_memory(const api::Driver& driver, api::CUdevice device, Properties& properties) {
  if (attribute(driver, device, api::attribute_virtual_memory_management) == 0) return;
  const auto allocation = allocation_properties(device);
  std::size_t granularity = 0;
  if (driver.cuMemGetAllocationGranularity(&granularity, &allocation, api::granularity_minimum) != api::success) return;
  if (granularity == 0) return;
  properties.largest_reservation = probe_largest_reservation(driver, granularity);
  properties.can_reserve = properties.largest_reservation > 0;
  properties.backing_granularity = properties.can_reserve ? granularity : 0;
}

/// Grace-Hopper and similar GPUs use the CPU's page tables; GPUs with HMM migrate pages at faults.
HostAccess inspect_host_access(const api::Driver& driver, api::CUdevice device) {
  if (attribute(driver, device, api::attribute_pageable_memory_access) == 0) return HostAccess::none;
  if (attribute(driver, device, api::attribute_uses_host_page_tables) == 0) return HostAccess::pageable;
  return attribute(driver, device, api::attribute_integrated) != 0 ? HostAccess::unified : HostAccess::coherent;
}

/// If the driver is too old to report the node, and there is only one node without CPUs, returns that one.
int inspect_memory_node(const api::Driver& driver, api::CUdevice device, HostAccess access) {
  if (attribute(driver, device, api::attribute_numa_config) == api::numa_config_node)
    return attribute(driver, device, api::attribute_numa_id);
  if (access != HostAccess::coherent) return -1;
  const std::vector<int> nodes = platform::nodes_without_cpus();
  return nodes.size() == 1 ? nodes.front() : -1;
}

/// "0000:17:00.0", as the kernel writes it; "cuda" and the ordinal if the driver does not tell.
std::string bus_name(const api::Driver& driver, api::CUdevice device) {
  char name[32] = "";
  if (driver.cuDeviceGetPCIBusId(name, sizeof name, device) != api::success) return fmt::format("cuda{}", device);
  std::string text = name;
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

/// The GPUs that are near most of the process's CPUs. All GPUs if the process is not bound to CPUs, or if nobody knows
/// what is near.
std::vector<int> nearest(const api::Driver& driver, int count) {
  std::vector<int> found;
  int most = -1;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const int near = platform::own_cpus_near(bus_name(driver, ordinal)).value_or(0);
    if (near > most) found.clear();
    if (near >= most) found.push_back(ordinal);
    most = std::max(most, near);
  }
  return found;
}

/// Chooses the GPU if the user names none. On a coherent machine the allocator has already chosen, by the rank alone,
/// so the choice here is the same.
int choose_for_process(const api::Driver& driver, const Choice& choice, int count) {
  const int rank = std::max(0, choice.local_rank);
  if (count == 1 || attribute(driver, 0, api::attribute_uses_host_page_tables) != 0) return rank % count;
  const std::vector<int> candidates = nearest(driver, count);
  std::vector<std::string> names;
  names.reserve(candidates.size());
  for (const int ordinal : candidates) names.push_back(bus_name(driver, ordinal));
  return candidates[platform::Peers(choice.run_directory).choose(names, static_cast<std::size_t>(rank) % names.size())];
}

/// Number of processes that use the GPU now, or that will when all ranks have come. If each rank may have GPUs of its
/// own, only the processes that use it now are known.
int count_sharers(const api::Driver& driver, const Choice& choice, int ordinal) {
  const int now = platform::Peers(choice.run_directory).users(bus_name(driver, ordinal)) + 1;
  int count = 1;
  if (secure_getenv("CUDA_VISIBLE_DEVICES") != nullptr || driver.cuDeviceGetCount(&count) != api::success) return now;
  const int per_gpu = choice.name.find(':') == std::string::npos ? (choice.local_size + count - 1) / count : 1;
  return std::max(now, per_gpu);
}

/// NVIDIA's Multi-Process Service: https://docs.nvidia.com/deploy/mps/
bool multi_process_service_runs() {
  const char* const named = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string directory = named != nullptr ? named : "/tmp/nvidia-mps";
  return access((directory + "/control").c_str(), F_OK) == 0;
}

/// The compute mode that an administrator has set (nvidia-smi -c), if it may keep this process from the GPU; else "".
std::string why_closed(const api::Driver& driver, api::CUdevice device) {
  switch (attribute(driver, device, api::attribute_compute_mode)) {
    case api::compute_mode_prohibited: return "no process may compute there (compute mode prohibited)";
    case api::compute_mode_exclusive_process:
      return "one process at a time may use it (compute mode exclusive), unless they share it by way of NVIDIA MPS, "
             "which blastoff run --mps=auto starts";
    default: return "";
  }
}

}  // namespace

Error explain_no_context(const api::Driver& driver, api::CUdevice device, const Error& error) {
  const std::string closed = why_closed(driver, device);
  if (closed.empty() || error.kind != ErrorKind::unavailable) return error;
  return unavailable(fmt::format("cuda:{} ({}): {}; {}", device, name_of(driver, device), closed, error.message));
}

Result<int> count_gpus(const api::Driver& driver) {
  int count = 0;
  auto result = driver.cuInit(0);
  if (result == api::success) result = driver.cuDeviceGetCount(&count);
  if (result == api::error_stub_library) {
    return tl::unexpected(unavailable("the libcuda.so.1 found is the toolkit's stub, not the NVIDIA driver's"));
  }
  if (result == api::error_no_device || (result == api::success && count == 0)) {
    return tl::unexpected(unavailable("the NVIDIA driver finds no GPU (is it hidden by CUDA_VISIBLE_DEVICES?)"));
  }
  if (result != api::success) {
    return tl::unexpected(unavailable("the NVIDIA driver does not start: " + describe(driver, result)));
  }
  return count;
}

api::CUmemAllocationProp allocation_properties(api::CUdevice device) {
  api::CUmemAllocationProp properties{};
  properties.type = api::allocation_pinned;
  properties.location = {api::location_device, device};
  return properties;
}

Result<int> choose_gpu(const api::Driver& driver, const Choice& choice) {
  const auto counted = count_gpus(driver);
  if (!counted) return tl::unexpected(counted.error());
  const int count = *counted;
  const auto requested = requested_ordinal(choice.name);
  if (requested && (*requested < 0 || *requested >= count))
    return tl::unexpected(unavailable(fmt::format("no GPU {}; there is {}", choice.name, list_gpus(driver, count))));
  const int ordinal = requested ? *requested : choose_for_process(driver, choice, count);
  platform::Peers(choice.run_directory).enter(bus_name(driver, ordinal));
  api::CUdevice device = 0;
  if (driver.cuDeviceGet(&device, ordinal) != api::success) {
    return tl::unexpected(unavailable(fmt::format("GPU cuda:{} does not answer", ordinal)));
  }
  const int major = attribute(driver, device, api::attribute_compute_capability_major);
  if (major < volta) {
    return tl::unexpected(unavailable(fmt::format(
        "cuda:{} ({}) has compute capability {}.{}; 7.0 (Volta) or newer is needed", ordinal, name_of(driver, device),
        major, attribute(driver, device, api::attribute_compute_capability_minor))));
  }
  return ordinal;
}

Gpu inspect(Context& context, const Choice& choice, int ordinal) {
  const auto& driver = context.driver();
  const auto device = context.device();
  Gpu gpu;
  auto& properties = gpu.properties;
  properties.kind = "cuda";
  properties.name = name_of(driver, device);
  properties.index = ordinal;
  properties.bus = bus_name(driver, device);
  properties.sharers = count_sharers(driver, choice, ordinal);
  properties.by_server = multi_process_service_runs();
  properties.exclusive = attribute(driver, device, api::attribute_compute_mode) == api::compute_mode_exclusive_process;
  properties.software = describe_driver(context);
  driver.cuDeviceTotalMem_v2(&properties.total_memory, device);
  inspect_peak_rates(driver, device, properties);
  properties.can_pin = attribute(driver, device, api::attribute_host_register_supported) != 0;
  properties.host_access = inspect_host_access(driver, device);
  properties.memory_node =
      choice.memory_node >= 0 ? choice.memory_node : inspect_memory_node(driver, device, properties.host_access);
  inspect_virtual_memory(driver, device, properties);
  // NVIDIA recommends 32 MiB for cuBLAS from Hopper on, and 4 MiB before; 8 MiB gives older GPUs some room.
  const int major = attribute(driver, device, api::attribute_compute_capability_major);
  gpu.capabilities.workspace_bytes = (major >= hopper ? 32 : 8) * mebibyte;
  gpu.capabilities.largest_pitch = static_cast<std::size_t>(attribute(driver, device, api::attribute_max_pitch));
  gpu.capabilities.host_addresses_are_device_addresses =
      attribute(driver, device, api::attribute_can_use_host_pointer) != 0;
  const bool migrates =
      properties.host_access == HostAccess::pageable || properties.host_access == HostAccess::coherent;
  gpu.capabilities.can_prefetch = migrates && driver.cuMemPrefetchAsync_v2 != nullptr;
  return gpu;
}

}  // namespace blastoff::device::cuda
