#include "device/open.h"

#include <fmt/format.h>

#include "device/simulated/simulated_device.h"

namespace blastoff::device {

Result<std::unique_ptr<Device>> open(const Choice& choice) {
  if (choice.name == "simulated") return simulated::open(choice);
  return tl::unexpected(Error{ErrorKind::unavailable,
                              fmt::format("no device \"{}\": accepted are cuda, cuda:N and simulated", choice.name)});
}

}  // namespace blastoff::device
