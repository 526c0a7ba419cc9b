#include "report/json.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "operation/front_end.h"
#include "platform/process.h"
#include "platform/reserve.h"
#include "report/counter_layout.h"
#include "report/summary.h"

namespace blastoff::report {

namespace {

using Json = nlohmann::ordered_json;

Json process_json(const Context& context) {
  return {{"run", context.run},
          {"program", context.program},
          {"command_line", context.command_line},
          {"host", context.host},
          {"kernel", context.kernel},
          {"huge_pages", context.huge_pages},
          {"pid", context.pid},
          {"rank", context.rank < 0 ? Json(nullptr) : Json(context.rank)},
          {"started", context.started},
          {"elapsed_seconds", context.elapsed_seconds}};
}

/// Converts a moment of boot_nanoseconds() to seconds since 1970.
double since_1970(std::uint64_t moment) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count() - 1e-9 * static_cast<double>(boot_nanoseconds()) + 1e-9 * static_cast<double>(moment);
}

Json cpu_run_json(const std::optional<EarlierRun>& run) {
  if (!run) return nullptr;
  return {{"flops", run->flops}, {"seconds", run->seconds}, {"in_calls", run->in_calls}, {"runs", run->runs}};
}

/// When there were calls, and what else counts in wall time; null if there was no call.
Json wall_json(const Totals& totals, double cost_seconds, Json cpu_run) {
  if (totals.first_call == 0) return nullptr;
  const double began = since_1970(totals.first_call);
  const double seconds = 1e-9 * static_cast<double>(totals.last_call - totals.first_call);
  return {{"began", began},
          {"ended", began + seconds},
          {"span_seconds", seconds},
          {"small_seconds", totals.small_seconds},
          {"busiest_cpu_seconds", totals.busiest_cpu_seconds},
          {"cost_seconds", cost_seconds},
          {"cpu_run", std::move(cpu_run)}};
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

Json devices_json(const Context& context) {
  Json list = Json::array();
  for (const DeviceUse& each : context.devices)
    list.push_back({{"name", each.name},
                    {"index", each.index},
                    {"bus", each.bus},
                    {"state", each.state},
                    {"memory", each.memory},
                    {"memory_budget", each.memory_budget},
                    {"memory_peak", each.memory_peak},
                    {"calls", each.calls},
                    {"parts", each.parts},
                    {"flops", each.flops},
                    {"seconds", each.seconds},
                    {"bytes_to_device", each.traffic.bytes_to_device},
                    {"bytes_from_device", each.traffic.bytes_from_device},
                    {"bytes_between_devices", each.traffic.bytes_between_devices}});
  return list;
}

Json opening_json(const std::optional<DeviceOpening>& opening) {
  if (!opening) return nullptr;
  return {{"after_seconds", opening->after},
          {"seconds", opening->seconds},
          {"closing_seconds", opening->closing},
          {"foreseen", opening->foreseen}};
}

Json device_json(const Context& context) {
  return {{"used", context.device_used},
          {"kind", context.device_kind},
          {"name", context.device.name},
          {"index", context.device.index < 0 ? Json(nullptr) : Json(context.device.index)},
          {"bus", context.device.bus},
          {"by_server", context.device_concurrent},
          {"software", context.device_software},
          {"state", context.device.state},
          {"opening", opening_json(context.device_opening)},
          {"memory", context.device.memory},
          {"memory_budget", context.device.memory_budget},
          {"memory_held", held_memory_json(context)},
          {"model", context.machine_model}};
}

Json policy_json(const Context& context) {
  Json copied = Json::array();
  for (const auto& [reason, calls] : context.copied_operands) copied.push_back({{"reason", reason}, {"calls", calls}});
  return {{"requested", context.policy_requested},
          {"in_force", context.policy},
          {"reason", context.policy_reason},
          {"mechanism", context.mechanism},
          {"tracker", context.tracker},
          {"copied_operands", copied},
          {"results_reason", context.results_reason},
          {"bytes_overwritten", context.results.overwritten},
          {"bytes_touched", context.results.touched},
          {"bytes_brought_home", context.results.brought_home}};
}

/// null if no pages were moved.
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

/// null if the allocator library is not loaded.
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

Json pool_json(std::uint64_t hits, std::uint64_t misses, double seconds) {
  return {{"hits", hits}, {"misses", misses}, {"seconds", seconds}};
}

/// null if no block was used.
Json blocks_json(const std::optional<blastoff_blocks_counters>& blocks) {
  if (!blocks) return nullptr;
  return {{"acquisitions", blocks->acquisitions},
          {"found_current", blocks->found_current},
          {"copies_to_device", blocks->copies_to_device},
          {"bytes_to_device", blocks->bytes_to_device},
          {"copies_from_device", blocks->copies_from_device},
          {"bytes_from_device", blocks->bytes_from_device},
          {"copies_between_devices", blocks->copies_between_devices},
          {"bytes_between_devices", blocks->bytes_between_devices},
          {"evictions", blocks->evictions},
          {"evicted_bytes", blocks->evicted_bytes},
          {"contractions", blocks->contractions},
          {"flops", blocks->flops},
          {"waiting_seconds", blocks->waiting_seconds},
          {"host_pool", pool_json(blocks->host_hits, blocks->host_misses, blocks->host_seconds)},
          {"device_pool", pool_json(blocks->device_hits, blocks->device_misses, blocks->device_seconds)},
          {"host_plain", blocks->host_plain}};
}

Json named(const std::vector<std::pair<std::string, std::string>>& functions, const char* why) {
  Json list = Json::array();
  for (const auto& [name, text] : functions) list.push_back({{"name", name}, {why, text}});
  return list;
}

std::size_t functions_of(const Interception& interception) {
  std::size_t functions = 0;
  for (const PatchedObject& object : interception.objects) functions += object.patched.size() + object.refused.size();
  return functions;
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
  Json unseen = Json::array();
  for (const UnseenFamily& each : interception.unseen)
    unseen.push_back({{"family", each.family}, {"function", each.function}, {"object", each.object}});
  Json counted = Json::array();
  for (const CountedRoutine& each : interception.counted)
    counted.push_back({{"family", each.family},
                       {"routine", each.name},
                       {"calls", each.calls},
                       {"seconds", each.seconds},
                       {"own_seconds", each.own_seconds}});
  return {{"mode", interception.mode},
          {"objects_seen", interception.objects_seen},
          {"functions_found", functions_of(interception)},
          {"seconds", interception.seconds},
          {"objects", objects},
          {"unseen", unseen},
          {"counted", counted}};
}

/// null if nobody has asked.
Json json_of(const std::optional<Cpu>& cpu) {
  if (!cpu) return nullptr;
  Json libraries = Json::array();
  for (const CpuLibrary& each : cpu->libraries)
    libraries.push_back({{"library", each.name},
                         {"version", each.version},
                         {"kernels", each.kernels},
                         {"vectors", platform::to_string(each.vectors)},
                         {"path", each.path},
                         {"description", describe(each)},
                         {"coretype", each.coretype},
                         {"advice", each.advice}});
  return {{"name", cpu->processor.name},
          {"vectors", platform::to_string(cpu->processor.vectors)},
          {"libraries", libraries}};
}

/// The keys that the totals and each routine have.
Json sums_json(const RoutineTotals& sums) {
  Json json;
#define BLASTOFF_KEY(name, ...) json[#name] = sums.name;
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_KEY)
#undef BLASTOFF_KEY
  json["operand_reuse"] = operand_reuse(sums);
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

Json refusals_json(const std::array<std::uint64_t, refusal_count>& refusals,
                   const std::array<std::uint64_t, refusal_count>& followed = {}) {
  Json list = Json::array();
  for (std::size_t i = 1; i < refusals.size(); ++i) {
    if (refusals[i] == 0) continue;
    list.push_back({{"reason", refusal_text(static_cast<Refusal>(i))}, {"calls", refusals[i]}});
    if (followed[i] > 0) list.back()["followed"] = followed[i];
  }
  return list;
}

/// Mean for one call; null if no call was known.
Json mean_json(double sum, std::uint64_t calls) {
  return calls == 0 ? Json(nullptr) : Json(sum / static_cast<double>(calls));
}

Json decisions_json(const Context& context) {
  Json list = Json::array();
  for (const Decisions& each : context.decisions) {
    list.push_back({{"routine", operation::routine_name(each.routine)},
                    {"example", each.example},
                    {"verdict", refusal_text(each.refusal)},
                    {"calls", each.calls},
                    {"seconds", each.seconds},
                    {"longest_seconds", each.longest},
                    {"bytes_left", static_cast<double>(each.left_bytes) / static_cast<double>(each.calls)},
                    {"predicted",
                     {{"cpu_seconds", mean_json(each.predicted.cpu_seconds, each.known)},
                      {"device_seconds", mean_json(each.predicted.device_seconds, each.judged)},
                      {"bringing_seconds", mean_json(each.predicted.bringing_seconds, each.judged)},
                      {"missing_bytes", mean_json(each.predicted.missing_bytes, each.judged)}}}});
  }
  return list;
}

Json sizes_json(const Totals& totals) {
  Json list = Json::array();
  for (std::size_t i = 0; i < totals.sizes.size(); ++i) {
    const SizeTotals& sums = totals.sizes[i];
    if (sums.calls == 0) continue;
    list.push_back({{"min_size", min_size(i)},
                    {"calls", sums.calls},
                    {"offloaded", sums.offloaded},
                    {"cpu_seconds", sums.cpu_seconds},
                    {"device_seconds", sums.device_seconds}});
  }
  return list;
}

Json call_sites_json(const std::vector<CallSite>& sites) {
  Json list = Json::array();
  for (const CallSite& site : sites) {
    if (site.sums.calls == 0) continue;
    Json json{{"routine", operation::routine_name(site.routine)},
              {"object", site.object},
              {"offset", site.offset},
              {"python", site.python},
              {"threads", site.threads},
              {"mean_size", std::cbrt(site.volume / static_cast<double>(site.sums.calls))}};
    json.update(sums_json(site.sums));
    json["refusals"] = refusals_json(site.refusals);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<Json> timeline_json(const Timeline& timeline) {
  std::vector<Json> list;
  for (const TimedCall& call : timeline.calls) {
    list.push_back({{"start", call.start},
                    {"seconds", call.seconds},
                    {"transfer_seconds", call.transfer_seconds},
                    {"routine", operation::routine_name(call.routine)},
                    {"on_device", call.on_device},
                    {"thread", call.thread},
                    {"size", std::cbrt(call.volume)}});
  }
  return list;
}

void put_counts(Json& report, const Totals& totals, const std::vector<CallSite>& sites) {
  report["totals"] = sums_json(sum_over_routines(totals));
  report["routines"] = routines_json(totals);
  report["refusals"] = refusals_json(totals.refusals, totals.followed);
  report["sizes"] = sizes_json(totals);
  report["call_sites"] = call_sites_json(sites);
  report["verification"] = verification_json(totals.verification);
  report["largest_small_size"] = std::cbrt(totals.largest_small_volume);
}

Json describe_process(const Context& context) {
  return {{"blastoff", BLASTOFF_VERSION},
          {"process", process_json(context)},
          {"settings", settings_json(context)},
          {"device", device_json(context)},
          {"devices", devices_json(context)},
          {"policy", policy_json(context)},
          {"placement", placement_json(context)},
          {"allocation", allocation_json(context.allocation)},
          {"blocks", blocks_json(context.blocks)},
          {"interception", interception_json(context.interception)},
          {"cpu", json_of(context.cpu)}};
}

/// Command lines need not be UTF-8: invalid bytes become U+FFFD instead of an exception.
std::string text_of(const Json& report) {
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Adds a key with many values, each on a line of its own.
std::string text_with(const Json& report, const char* key, const std::vector<Json>& values) {
  std::string text = text_of(report);
  text.resize(text.rfind("\n}"));
  text += fmt::format(",\n  \"{}\": [", key);
  const char* separator = "";
  for (const Json& value : values) {
    text += fmt::format("{}\n    {}", separator, value.dump());
    separator = ",";
  }
  return text + "\n  ]\n}\n";
}

/// For a process that has written no description, since it has made no call.
Json undescribed(const Kept& kept) {
  Context context;
  context.run = kept.run;
  context.program = kept.program;
  context.host = platform::host_name();
  context.kernel = platform::kernel_release();
  context.device.state = "not started";
  context.tracker = "none";
  return describe_process(context);
}

}  // namespace

std::string to_json(const Totals& totals, const Context& context) {
  const platform::FromReserve for_json;
  Json report = describe_process(context);
  report["process"]["ended"] = context.ended;
  put_counts(report, totals, call_sites());
  report["wall"] = wall_json(totals, context.cost_seconds, cpu_run_json(context.cpu_run));
  if (!context.decisions.empty()) report["decisions"] = decisions_json(context);
  if (context.timeline.calls.empty()) return text_of(report);
  report["shortest_timed_seconds"] = context.timeline.shortest;
  return text_with(report, "timeline", timeline_json(context.timeline));
}

std::string cpu_json(const Cpu& cpu) {
  return text_of(json_of(cpu));
}

std::string counts_json(const Totals& totals) {
  const platform::FromReserve for_json;
  Json counts;
  put_counts(counts, totals, call_sites());
  return text_of(counts);
}

std::string to_json(const Totals& totals, const Kept& kept, const std::string& description) {
  const platform::FromReserve for_json;
  Json report = Json::parse(description, nullptr, false);
  if (!report.is_object()) report = undescribed(kept);
  Json& process = report["process"];
  const Json& described = report["wall"];
  double cost_seconds = described.is_object() ? described.value("cost_seconds", 0.0) : 0;
  Json cpu_run = described.is_object() ? described.value("cpu_run", Json()) : Json();
  if (kept.forked && process["pid"] != kept.pid) {
    cost_seconds = 0;
    cpu_run = nullptr;
    Context child;
    child.device_kind = report["device"]["kind"];
    child.device.state = "not started";
    report["device"] = device_json(child);
    report["devices"] = Json::array();
    report["blocks"] = nullptr;
    report["policy"]["copied_operands"] = Json::array();
  }
  process["run"] = kept.run;
  process["pid"] = kept.pid;
  process["rank"] = kept.rank < 0 ? Json(nullptr) : Json(kept.rank);
  process["elapsed_seconds"] = kept.elapsed_seconds;
  process["ended"] = kept.ended ? "exit" : "";
  process["incomplete"] = kept.incomplete != 0;
  if (kept.incomplete != 0) process["incomplete_reason"] = std::strerror(kept.incomplete);
  report["device"]["memory_in_use"] = kept.device_memory;
  report["policy"]["bytes_overwritten"] = kept.results.overwritten;
  report["policy"]["bytes_touched"] = kept.results.touched;
  report["policy"]["bytes_brought_home"] = kept.results.brought_home;
  report["interception"]["objects_seen"] = kept.objects;
  report["interception"]["functions_found"] = kept.functions;
  put_counts(report, totals, kept.call_sites);
  report["wall"] = wall_json(totals, cost_seconds, std::move(cpu_run));
  return text_of(report);
}

}  // namespace blastoff::report
