#include "device/cuda/cuda_users.h"

#include <algorithm>
#include <array>

namespace blastoff::device::cuda {
namespace {

constexpr std::string_view runtime = "libcudart.so";
constexpr std::string_view driver = "libcuda.so";

/// How the names of objects begin that have the driver and use it on the program's behalf alone.
constexpr std::array<std::string_view, 16> go_betweens = {
    "libblastoff", "libcublas",   "libcusolver", "libcusparse", "libcufft",    "libnvJitLink", "libnvrtc", "libnvblas",
    "libuct_cuda", "libucm_cuda", "libucs",      "libmpi.",     "libopen-pal", "mca_",         "libhwloc", "hwloc_",
};

bool is_go_between(std::string_view name) {
  return std::any_of(go_betweens.begin(), go_betweens.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

bool shows_cuda_use(const LibraryInProcess& library) {
  if (library.name.starts_with(runtime)) return true;
  if (library.name.starts_with(driver)) return !library.requested_by.empty() && !is_go_between(library.requested_by);
  const bool needs_driver = std::any_of(library.needed.begin(), library.needed.end(),
                                        [](const std::string& needed) { return needed.starts_with(driver); });
  return needs_driver && !is_go_between(library.name);
}

}  // namespace blastoff::device::cuda
