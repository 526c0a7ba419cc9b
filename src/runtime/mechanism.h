// How operands reach the device, chosen from the settings, the device's abilities and the place of its memory.
#pragma once

#include <string>

#include "config/settings.h"
#include "device/device.h"

namespace blastoff::runtime {

enum class Mechanism : std::uint8_t {
  mirrors,   ///< copies in device memory, which persist (first-use)
  moves,     ///< the pages themselves move to the device's NUMA node (first-use)
  prefetch,  ///< the driver is asked to migrate the pages (first-use)
  in_place,  ///< operands are used where they are (coherent)
  copies,    ///< operands are copied around every call (copy)
};

/// "mirrors", "moves", "prefetch", "none", "copies".
const char* to_string(Mechanism mechanism);

/// What the settings ask for: "coherent", "first-use", "first-use by moves".
std::string describe_request(const config::Settings& settings);

struct MechanismChoice {
  Mechanism mechanism;
  std::string reason;  ///< why it is not the requested one, or ""
};

/// `node_allowed`: whether this process may have memory on the device's NUMA node.
MechanismChoice choose_mechanism(const config::Settings& settings, const device::Properties& device, bool node_allowed);

/// Takes the place of mirrors where they cannot be kept.
Mechanism without_mirrors(const config::Settings& settings, const device::Properties& device);

}  // namespace blastoff::runtime
