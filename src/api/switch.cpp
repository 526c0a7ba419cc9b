#include "api/switch.h"

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "intercept/copies.h"
#include "platform/process.h"
#include "report/json.h"
#include "report/recorder.h"
#include "runtime/process.h"
#include "runtime/python_transforms.h"

namespace blastoff::api {

namespace {

bool acts() {
  return !platform::has_elevated_rights() && intercept::this_copy_acts();
}

}  // namespace

bool switch_on() {
  if (!acts()) return false;
  runtime::Process::switch_on();
  runtime::take_python_transforms();
  return true;
}

void switch_off() {
  runtime::Process::switch_off();
}

bool is_on() {
  return acts() && !runtime::Process::is_switched_off();
}

std::string report_now() {
  return runtime::Process::instance().report_now();
}

std::string counts_now() {
  return report::counts_json(report::totals());
}

std::string settings_json(bool in_force) {
  const runtime::Process* const process = runtime::Process::existing();
  if (in_force && process == nullptr) return "";
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : config::describe(in_force ? process->settings() : config::read_settings()))
    json[name] = value;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace blastoff::api
