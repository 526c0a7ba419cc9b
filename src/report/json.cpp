#include "report/json.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "operation/front_end.h"
#include "report/summary.h"

namespace blastoff::report {

namespace {

using Json = nlohmann::ordered_json;

Json process_json(const Context& context) {
  const char* run = secure_getenv("BLASTOFF_RUN");
  return {{"run", run != nullptr ? run : ""},
          {"program", context.program},
          {"command_line", context.command_line},
          {"host", context.host},
          {"kernel", context.kernel},
          {"pid", context.pid},
          {"rank", context.rank < 0 ? Json(nullptr) : Json(context.rank)},
          {"elapsed_seconds", context.elapsed_seconds}};
}

Json settings_json(const Context& context) {
  Json settings = Json::object();
  for (const auto& [name, value] : context.settings) settings[name] = value;
  return settings;
}

Json held_memory_json(const Context& context) {
  Json list = Json::array();
  for (const HeldMemory& held : context.held_memory)
    list.push_back({{"client", held.client}, {"bytes", held.bytes}, {"bytes_peak", held.bytes_peak}});
  return list;
}

Json device_json(const Context& context) {
  return {{"used", context.device_used},
          {"kind", context.device_kind},
          {"name", context.device_name},
          {"software", context.device_software},
          {"state", context.device_state},
          {"memory", context.device_memory},
          {"memory_budget", context.device_memory_budget},
          {"memory_held", held_memory_json(context)}};
}

Json policy_json(const Context& context) {
  Json copied = Json::array();
  for (const auto& [reason, calls] : context.copied_operands) copied.push_back({{"reason", reason}, {"calls", calls}});
  return {{"requested", context.policy_requested}, {"in_force", context.policy}, {"reason", context.policy_reason},
          {"mechanism", context.mechanism},        {"tracker", context.tracker}, {"copied_operands", copied}};
}

/// null where no pages were moved.
Json placement_json(const Context& context) {
  if (!context.pages_moved) return nullptr;
  Json left = Json::array();
  std::uint64_t left_bytes = 0;
  for (const auto& [reason, bytes] : context.left_bytes) {
    left.push_back({{"reason", reason}, {"bytes", bytes}});
    left_bytes += bytes;
  }
  return {{"node", context.memory_node},
          {"bytes_placed", context.placed_bytes},
          {"bytes_moved", context.moved_bytes},
          {"bytes_left", left_bytes},
          {"left", left},
          {"seconds", context.moving_seconds}};
}

/// null where the allocator library is not loaded.
Json allocation_json(const std::optional<Allocation>& allocation) {
  if (!allocation) return nullptr;
  return {{"placed_blocks", allocation->placed_blocks},
          {"placed_bytes", allocation->placed_bytes},
          {"bound_blocks", allocation->bound_blocks},
          {"bound_bytes", allocation->bound_bytes},
          {"left_blocks", allocation->left_blocks},
          {"left_bytes", allocation->left_bytes},
          {"node", allocation->node < 0 ? Json(nullptr) : Json(allocation->node)},
          {"unbound", allocation->unbound},
          {"owner", allocation->owner}};
}

Json named(const std::vector<std::pair<std::string, std::string>>& functions, const char* why) {
  Json list = Json::array();
  for (const auto& [name, text] : functions) list.push_back({{"name", name}, {why, text}});
  return list;
}

Json interception_json(const Interception& interception) {
  Json objects = Json::array();
  for (const PatchedObject& object : interception.objects) {
    objects.push_back({{"path", object.path},
                       {"seconds", object.seconds},
                       {"patched", object.patched},
                       {"refused", named(object.refused, "reason")},
                       {"left_alone", named(object.left_alone, "rule")}});
  }
  return {{"mode", interception.mode},
          {"objects_seen", interception.objects_seen},
          {"seconds", interception.seconds},
          {"objects", objects}};
}

/// The keys that totals and single routines share.
Json sums_json(const RoutineTotals& sums) {
  Json json;
#define BLASTOFF_KEY(name, ...) json[#name] = sums.name;
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_KEY)
#undef BLASTOFF_KEY
  json["operand_reuse"] = operand_reuse(sums.bytes_to_device, sums.bytes_reused);
  return json;
}

Json verification_json(const Verification& verification) {
  Json json;
#define BLASTOFF_KEY(name, ...) json[#name] = verification.name;
  BLASTOFF_VERIFICATION_COUNTERS(BLASTOFF_KEY)
#undef BLASTOFF_KEY
  return json;
}

Json routines_json(const Totals& totals) {
  Json list = Json::array();
  for (std::size_t i = 0; i < totals.routines.size(); ++i) {
    if (totals.routines[i].calls == 0) continue;
    Json routine{{"name", operation::routine_name(static_cast<operation::RoutineId>(i))}};
    routine.update(sums_json(totals.routines[i]));
    list.push_back(std::move(routine));
  }
  return list;
}

Json refusals_json(const Totals& totals) {
  Json list = Json::array();
  for (std::size_t i = 1; i < totals.refusals.size(); ++i) {
    if (totals.refusals[i] == 0) continue;
    list.push_back({{"reason", refusal_text(static_cast<Refusal>(i))}, {"calls", totals.refusals[i]}});
  }
  return list;
}

}  // namespace

std::string to_json(const Totals& totals, const Context& context) {
  const Json report{{"blastoff", BLASTOFF_VERSION},
                    {"process", process_json(context)},
                    {"settings", settings_json(context)},
                    {"device", device_json(context)},
                    {"policy", policy_json(context)},
                    {"placement", placement_json(context)},
                    {"allocation", allocation_json(context.allocation)},
                    {"interception", interception_json(context.interception)},
                    {"totals", sums_json(sum_over_routines(totals))},
                    {"routines", routines_json(totals)},
                    {"refusals", refusals_json(totals)},
                    {"verification", verification_json(totals.verification)}};
  // Command lines need not be UTF-8: what is not becomes U+FFFD instead of an exception.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace blastoff::report
