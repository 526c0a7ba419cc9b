#include "api/inspection_json.h"

#include <elf.h>

#include <nlohmann/json.hpp>

#include "intercept/inspection.h"

namespace blastoff::api {

namespace {

using Json = nlohmann::ordered_json;
using intercept::CodeState;

Json machine_json(std::uint16_t machine) {
  if (machine == EM_X86_64) return "x86_64";
  if (machine == EM_AARCH64) return "aarch64";
  return machine;
}

const char* linkage_name(intercept::Linkage linkage) {
  switch (linkage) {
    case intercept::Linkage::shared_object: return "shared_object";
    case intercept::Linkage::dynamic_executable: return "dynamic_executable";
    case intercept::Linkage::static_executable: return "static_executable";
  }
  return "";
}

Json state_json(CodeState state) {
  switch (state) {
    case CodeState::not_looked_at: return nullptr;
    case CodeState::as_in_file: return "as in file";
    case CodeState::patched: return "patched";
    case CodeState::changed: return "changed";
  }
  return nullptr;
}

Json function_json(const intercept::InspectedFunction& inspected, bool native) {
  const intercept::BlasFunction& function = inspected.function;
  const auto& obstacle = inspected.obstacle;
  return {{"names", function.names},
          {"routine", function.routine.name()},
          {"style", function.convention.style == abi::Style::fortran ? "fortran" : "cblas"},
          {"integers", function.convention.integers == abi::IntegerWidth::ilp64 ? "ilp64" : "lp64"},
          {"exported", function.exported},
          {"patch", native && !obstacle},
          {"preload", native && inspected.bound_by_our_name},
          {"obstacle", obstacle ? intercept::patch::to_string(*obstacle) : ""},
          {"explanation", obstacle ? intercept::explain(*obstacle) : ""},
          {"state", state_json(inspected.state)}};
}

Json to_json(const intercept::Inspection& inspection) {
  Json functions = Json::array();
  for (const auto& function : inspection.functions) functions.push_back(function_json(function, inspection.native));
  Json left_alone = Json::array();
  for (const auto& [name, rule] : inspection.left_alone) left_alone.push_back({{"name", name}, {"rule", rule}});
  Json imports = Json::array();
  for (const auto& [name, preload] : inspection.imports) imports.push_back({{"name", name}, {"preload", preload}});
  return {{"machine", machine_json(inspection.machine)},
          {"native", inspection.native},
          {"linkage", linkage_name(inspection.linkage)},
          {"stripped", inspection.stripped},
          {"soname", inspection.soname},
          {"needed", inspection.needed},
          {"library", inspection.implementation},
          {"functions", functions},
          {"left_alone", left_alone},
          {"imports", imports}};
}

}  // namespace

std::string inspection_json(const char* path, const std::optional<InMemory>& memory) {
  auto inspection = intercept::inspect(path);
  if (inspection && memory) intercept::compare_with_memory(*inspection, memory->descriptor, memory->bias);
  const Json json = inspection ? to_json(*inspection) : Json{{"error", inspection.error()}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace blastoff::api
