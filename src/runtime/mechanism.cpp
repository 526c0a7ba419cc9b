#include "runtime/mechanism.h"

#include <fmt/format.h>

namespace blastoff::runtime {

namespace {

using device::HostAccess;

/// Chooses moving pages. Where the device's memory is no node that is known (the driver may keep it to itself),
/// matrices have mirrors there; where the node is not allowed, they are used where they are.
MechanismChoice by_moving(const device::Properties& device, bool node_allowed) {
  if (device.memory_node < 0)
    return {Mechanism::mirrors,
            "the driver does not report the NUMA node of the device's memory (name it with --device-node N)"};
  if (!node_allowed)
    return {Mechanism::in_place,
            fmt::format("NUMA node {}, the device's memory, is not allowed to this process (cpuset) or does not exist",
                        device.memory_node)};
  return {Mechanism::moves, ""};
}

MechanismChoice choose_for_first_use(const config::Settings& settings, const device::Properties& device,
                                     bool node_allowed) {
  const HostAccess access = device.host_access;
  switch (settings.mechanism) {
    case config::MechanismName::automatic:
      if (access == HostAccess::coherent && device.memory_node >= 0) return by_moving(device, node_allowed);
      if (access == HostAccess::unified)
        return {Mechanism::in_place, "the CPU and the device share one memory, so nothing has to move"};
      return {Mechanism::mirrors, ""};
    case config::MechanismName::mirrors: return {Mechanism::mirrors, ""};
    case config::MechanismName::moves:
      if (access == HostAccess::coherent) return by_moving(device, node_allowed);
      return {Mechanism::mirrors, "the device's memory is not a NUMA node, so pages cannot move there"};
    case config::MechanismName::prefetch:
      if (access == HostAccess::coherent || access == HostAccess::pageable) return {Mechanism::prefetch, ""};
      return {Mechanism::mirrors, "the device does not migrate the program's own memory (no HMM)"};
  }
  return {Mechanism::mirrors, ""};
}

}  // namespace

Mechanism without_mirrors(const config::Settings& settings, const device::Properties& device) {
  const bool chosen = settings.mechanism == config::MechanismName::mirrors;
  return device.host_access == HostAccess::coherent && !chosen ? Mechanism::in_place : Mechanism::copies;
}

std::string describe_request(const config::Settings& settings) {
  if (settings.policy == config::PolicyName::coherent) return "coherent";
  switch (settings.mechanism) {
    case config::MechanismName::moves: return "first-use by moves";
    case config::MechanismName::prefetch: return "first-use by prefetch";
    case config::MechanismName::automatic:
    case config::MechanismName::mirrors: break;
  }
  return "first-use";
}

const char* to_string(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::mirrors: return "mirrors";
    case Mechanism::moves: return "moves";
    case Mechanism::prefetch: return "prefetch";
    case Mechanism::in_place: return "none";
    case Mechanism::copies: return "copies";
  }
  return "";
}

MechanismChoice choose_mechanism(const config::Settings& settings, const device::Properties& device,
                                 bool node_allowed) {
  if (settings.policy == config::PolicyName::copy) return {Mechanism::copies, ""};
  if (settings.policy != config::PolicyName::coherent) return choose_for_first_use(settings, device, node_allowed);
  if (device.host_access != HostAccess::none) return {Mechanism::in_place, ""};
  return {choose_for_first_use(settings, device, node_allowed).mechanism,
          "the device cannot read the program's own memory (neither a coherent link nor HMM)"};
}

}  // namespace blastoff::runtime
