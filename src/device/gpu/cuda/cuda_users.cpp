#include "device/gpu/cuda/cuda_users.h"

#include <algorithm>
#include <array>

namespace blastoff::device::gpu::cuda {
namespace {

constexpr std::string_view runtime = "libcudart.so";
constexpr std::string_view driver = "libcuda.so";

/// Beginnings of the names of objects that belong to the driver or to Blastoff, or that Blastoff opens.
constexpr std::array<std::string_view, 12> ours = {"libcuda.so",  "libnvidia-",  "libblastoff", "libcublas",
                                                   "libcusolver", "libcusparse", "libcufft",    "libnvJitLink",
                                                   "libnvrtc",    "libnvblas",   "libnccl",     "libnvshmem"};

/// Beginnings of the names of communication libraries, which use the driver only on behalf of the program.
constexpr std::array<std::string_view, 8> communication = {"libuct_cuda", "libucm_cuda", "libucs",   "libmpi.",
                                                           "libopen-pal", "mca_",        "libhwloc", "hwloc_"};

template <std::size_t count>
bool begins_with_one_of(const std::array<std::string_view, count>& prefixes, std::string_view name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

DriverUse use_by(std::string_view object) {
  if (object.empty() || begins_with_one_of(ours, object)) return DriverUse::none;
  return begins_with_one_of(communication, object) ? DriverUse::ready : DriverUse::used;
}

}  // namespace

DriverUse cuda_use(const LibraryInProcess& library) {
  if (library.name.starts_with(runtime)) return DriverUse::used;
  if (library.name.starts_with(driver)) return use_by(library.requested_by);
  const bool needs_driver = std::any_of(library.needed.begin(), library.needed.end(),
                                        [](const std::string& needed) { return needed.starts_with(driver); });
  return needs_driver ? use_by(library.name) : DriverUse::none;
}

bool is_name_of_drivers_thread(std::string_view name) {
  constexpr std::string_view prefix = "cuda";
  constexpr std::size_t length = 15;
  if (name == "cuda-EvtHandlr") return true;
  return name.size() == length && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
}

}  // namespace blastoff::device::gpu::cuda
