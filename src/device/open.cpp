#include "device/open.h"

#include <fmt/format.h>

#include "device/cuda/cuda_device.h"
#include "device/simulated/simulated_device.h"

namespace blastoff::device {

const char* to_string(HostAccess access) {
  switch (access) {
    case HostAccess::none: return "none";
    case HostAccess::pageable: return "pageable";
    case HostAccess::coherent: return "coherent";
    case HostAccess::unified: return "unified";
  }
  return "";
}

Result<std::unique_ptr<Device>> open(const Choice& choice) {
  if (choice.name == "simulated") return simulated::open(choice);
  if (choice.name == "cuda" || choice.name.rfind("cuda:", 0) == 0) return cuda::open(choice);
  return tl::unexpected(Error{ErrorKind::unavailable,
                              fmt::format("no device \"{}\": accepted are cuda, cuda:N and simulated", choice.name)});
}

}  // namespace blastoff::device
