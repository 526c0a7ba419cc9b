#include "prediction/machine.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace blastoff::prediction {
namespace {

using Json = nlohmann::json;

double number(const Json& of, const char* part, const char* key, double otherwise) {
  const auto found = of.find(part);
  if (found == of.end() || !found->is_object()) return otherwise;
  const auto value = found->find(key);
  return value != found->end() && value->is_number() ? value->get<double>() : otherwise;
}

device::HostAccess access_of(const Json& of) {
  const auto gpu = of.find("gpu");
  if (gpu == of.end() || !gpu->is_object()) return device::HostAccess::none;
  const std::string access = gpu->value("host_access", "none");
  if (access == "coherent") return device::HostAccess::coherent;
  return access == "unified" ? device::HostAccess::unified : device::HostAccess::none;
}

}  // namespace

double Machine::work_seconds(const operation::Operation& operation) const {
  if (simulated) return simulated->device_seconds(operation.work.flops);
  const double all = model().device_seconds_of(operation);
  return launch_seconds + std::max(0.0, all - model().device_seconds - model().looking_seconds_of(operation));
}

double Machine::call_seconds(const operation::Operation& operation) const {
  if (simulated) return 0;
  return std::max(0.0, model().device_seconds - launch_seconds) + model().looking_seconds_of(operation);
}

tl::expected<Machine, std::string> read_machine(const std::string& json) {
  auto file = decide::parse_model(json);
  if (!file) return tl::unexpected(file.error());
  const Json text = Json::parse(json, nullptr, false);
  Machine machine;
  machine.file = std::move(*file);
  machine.memory = static_cast<std::size_t>(number(text, "gpu", "memory", static_cast<double>(machine.memory)));
  machine.pinned_to_device = number(text, "link", "to_device", machine.model().to_device);
  machine.pinned_from_device = number(text, "link", "from_device", machine.model().from_device);
  // If nobody has measured this rate, that of the driver's copies into ordinary memory is the nearest.
  const double unpinned = number(text, "link", "pageable_from_device", machine.model().from_device);
  machine.first_touch_from_device = number(text, "link", "first_touch_from_device", unpinned);
  if (!(machine.first_touch_from_device > 0))
    return tl::unexpected(std::string("link.first_touch_from_device is no rate"));
  machine.launch_seconds = number(text, "gpu", "launch_seconds", machine.model().device_seconds / 2);
  machine.pin_seconds_per_byte = number(text, "pinning", "seconds_per_byte", 0);
  machine.access = access_of(text);
  return machine;
}

tl::expected<Machine, std::string> simulated_machine(const std::string& rates, std::size_t memory) {
  const auto parsed = device::simulated::parse_rates(rates);
  if (!parsed) return tl::unexpected(parsed.error().message);
  if (!*parsed) return tl::unexpected(std::string("simulated rates are missing"));
  Machine machine;
  machine.file.model.name = "simulated device";
  machine.memory = memory;
  machine.simulated = *parsed;
  machine.pinned_to_device = machine.pinned_from_device = machine.first_touch_from_device = (*parsed)->link;
  return machine;
}

}  // namespace blastoff::prediction
