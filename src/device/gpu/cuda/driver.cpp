#include "device/gpu/cuda/driver.h"

#include <algorithm>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "device/gpu/cuda/library_file.h"
#include "platform/failure.h"

namespace blastoff::device::cuda {
namespace {

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

/// Places of the driver outside the loader's search path: of container runtimes, of Linux in Windows (WSL), of NixOS.
constexpr const char* driver_files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                        "/usr/lib/wsl/lib/libcuda.so.1", "/run/opengl-driver/lib/libcuda.so.1"};

void* open_driver(std::string& message) {
  for (const char* file : driver_files) {
    if (void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
    const auto failure = loader_message();
    // The error of a driver that exists and does not load tells more than that of a missing file.
    if (message.empty() || exists(file)) message = failure;
  }
  return nullptr;
}

/// The kernel's part of the driver: of a GPU on the bus, under Windows, and beside the CPU on one chip.
constexpr const char* kernel_files[] = {"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg",
                                        "/dev/nvhost-ctrl-gpu", "/dev/nvgpu"};

}  // namespace

bool driver_is_present() {
  std::string message;
  return std::ranges::any_of(kernel_files, exists) || open_driver(message) != nullptr;
}

Result<api::Driver> load_driver() {
  std::string message;
  void* library = open_driver(message);
  if (library == nullptr) {
    if (const std::string lack = platform::lack_of_descriptors(); !lack.empty())
      return tl::unexpected(unavailable("the NVIDIA driver cannot be loaded: " + lack));
    return tl::unexpected(
        unavailable(fmt::format("no GPU here: no NVIDIA driver ({}); in a container, start it with GPU access; "
                                "blastoff try -- PROGRAM says what a GPU would gain",
                                message)));
  }
  api::Driver driver;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, driver.symbol, missing);
  BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  const char* too_new = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, driver.symbol, too_new);
  BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return driver;
  return tl::unexpected(
      unavailable(fmt::format("the NVIDIA driver is too old: libcuda.so.1 lacks {}; 525 or newer is needed", missing)));
}

}  // namespace blastoff::device::cuda
