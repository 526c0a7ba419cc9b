#include "device/gpu/cuda/inspect.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "device/gpu/cuda/driver.h"
#include "platform/numa.h"

namespace blastoff::device::gpu::cuda {
namespace {

constexpr int volta = 7;
constexpr int hopper = 9;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

int attribute(int gpu, int which) {
  int value = 0;
  return functions().cuDeviceGetAttribute(&value, which, gpu) == success ? value : 0;
}

/// The version of the kernel module, such as "580.65.06"; the library does not report it.
std::string module_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  return std::getline(file, version) ? version : "";
}

/// GpuDevice::software() adds the libraries' versions.
std::string describe_driver() {
  int cuda = 0;
  functions().cuDriverGetVersion(&cuda);
  const auto module = module_version();
  return fmt::format("driver {}{}CUDA {}.{}", module, module.empty() ? "" : ", ", cuda / 1000, cuda % 1000 / 10);
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

void inspect_peak_rates(int gpu, Properties& properties) {
  const auto [in_single, in_double] = arithmetic_of(attribute(gpu, api::attribute_compute_capability_major),
                                                    attribute(gpu, api::attribute_compute_capability_minor));
  const double cycles =
      1e3 * attribute(gpu, api::attribute_clock_rate) * attribute(gpu, api::attribute_multiprocessor_count);
  properties.peak_single = 2 * cycles * in_single;
  properties.peak_double = 2 * cycles * in_double;
}

void inspect_virtual_memory(const Driver& driver, int gpu, Properties& properties) {
  if (attribute(gpu, api::attribute_virtual_memory_management) == 0) return;
  const auto allocation = allocation_properties(gpu);
  std::size_t granularity = 0;
  if (functions().cuMemGetAllocationGranularity(&granularity, &allocation, api::granularity_minimum) != success) return;
  if (granularity == 0) return;
  properties.largest_reservation = probe_largest_reservation(driver, granularity);
  properties.can_reserve = properties.largest_reservation > 0;
  properties.backing_granularity = properties.can_reserve ? granularity : 0;
}

/// Grace-Hopper and similar GPUs use the CPU's page tables; GPUs with HMM migrate pages at faults.
HostAccess inspect_host_access(int gpu) {
  if (attribute(gpu, api::attribute_pageable_memory_access) == 0) return HostAccess::none;
  if (attribute(gpu, api::attribute_uses_host_page_tables) == 0) return HostAccess::pageable;
  return attribute(gpu, api::attribute_integrated) != 0 ? HostAccess::unified : HostAccess::coherent;
}

/// If the driver is too old to report the node, and there is only one node without CPUs, returns that one.
int inspect_memory_node(int gpu, HostAccess access) {
  if (attribute(gpu, api::attribute_numa_config) == api::numa_config_node)
    return attribute(gpu, api::attribute_numa_id);
  if (access != HostAccess::coherent) return -1;
  const std::vector<int> nodes = platform::nodes_without_cpus();
  return nodes.size() == 1 ? nodes.front() : -1;
}

/// NVIDIA's Multi-Process Service: https://docs.nvidia.com/deploy/mps/
bool multi_process_service_runs() {
  const char* const named = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string directory = named != nullptr ? named : "/tmp/nvidia-mps";
  return access((directory + "/control").c_str(), F_OK) == 0;
}

}  // namespace

api::CUmemAllocationProp allocation_properties(int gpu) {
  api::CUmemAllocationProp properties{};
  properties.type = api::allocation_pinned;
  properties.location = {api::location_device, gpu};
  return properties;
}

bool uses_host_page_tables(int gpu) {
  return attribute(gpu, api::attribute_uses_host_page_tables) != 0;
}

std::string why_too_old(int gpu) {
  const int major = attribute(gpu, api::attribute_compute_capability_major);
  if (major >= volta) return "";
  return fmt::format("has compute capability {}.{}; 7.0 (Volta) or newer is needed", major,
                     attribute(gpu, api::attribute_compute_capability_minor));
}

std::string why_closed(int gpu) {
  switch (attribute(gpu, api::attribute_compute_mode)) {
    case api::compute_mode_prohibited: return "no process may compute there (compute mode prohibited)";
    case api::compute_mode_exclusive_process:
      return "one process at a time may use it (compute mode exclusive), unless they share it by way of NVIDIA MPS, "
             "which blastoff run --mps=auto starts";
    default: return "";
  }
}

void inspect(const Driver& driver, int gpu, const Choice& choice, Gpu& found) {
  Properties& properties = found.properties;
  properties.concurrent = multi_process_service_runs();
  properties.exclusive = attribute(gpu, api::attribute_compute_mode) == api::compute_mode_exclusive_process;
  properties.software = describe_driver();
  functions().cuDeviceTotalMem_v2(&properties.total_memory, gpu);
  inspect_peak_rates(gpu, properties);
  properties.can_pin = attribute(gpu, api::attribute_host_register_supported) != 0;
  properties.host_access = inspect_host_access(gpu);
  properties.memory_node =
      choice.memory_node >= 0 ? choice.memory_node : inspect_memory_node(gpu, properties.host_access);
  inspect_virtual_memory(driver, gpu, properties);
  // NVIDIA recommends 32 MiB for cuBLAS from Hopper on, and 4 MiB before; 8 MiB gives older GPUs some room.
  const int major = attribute(gpu, api::attribute_compute_capability_major);
  found.capabilities.workspace_bytes = (major >= hopper ? 32 : 8) * mebibyte;
  found.capabilities.largest_pitch = static_cast<std::size_t>(attribute(gpu, api::attribute_max_pitch));
  found.capabilities.host_addresses_are_device_addresses = attribute(gpu, api::attribute_can_use_host_pointer) != 0;
  const bool migrates =
      properties.host_access == HostAccess::pageable || properties.host_access == HostAccess::coherent;
  found.capabilities.can_prefetch = migrates && driver.prefetch != nullptr;
}

}  // namespace blastoff::device::gpu::cuda
