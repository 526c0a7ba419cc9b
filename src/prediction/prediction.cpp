#include "prediction/prediction.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "config/options.h"
#include "decide/decider.h"
#include "decide/distributed_library.h"
#include "device/kinds.h"
#include "device/team.h"
#include "prediction/process.h"
#include "prediction/replay.h"
#include "runtime/routine_choice.h"
#include "scalapack/trace_text.h"

namespace blastoff::prediction {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const RoutinePrediction& routine) {
  return {{"calls", routine.calls},
          {"on_device", routine.on_device},
          {"traced_seconds", routine.traced_seconds},
          {"cpu_seconds", routine.cpu_seconds},
          {"device_seconds", routine.device_seconds},
          {"moving_seconds", routine.moving_seconds},
          {"bytes_to_device", routine.bytes_to_device},
          {"bytes_from_device", routine.bytes_from_device},
          {"bytes_reused", routine.bytes_reused},
          {"min_size", routine.min_size}};
}

RoutinePrediction total_of(const Prediction& prediction) {
  RoutinePrediction total;
  for (const auto& [name, routine] : prediction.routines) {
    total.calls += routine.calls;
    total.on_device += routine.on_device;
    total.traced_seconds += routine.traced_seconds;
    total.cpu_seconds += routine.cpu_seconds;
    total.device_seconds += routine.device_seconds;
    total.moving_seconds += routine.moving_seconds;
    total.bytes_to_device += routine.bytes_to_device;
    total.bytes_from_device += routine.bytes_from_device;
    total.bytes_reused += routine.bytes_reused;
    if (routine.min_size > 0 && (total.min_size == 0 || routine.min_size < total.min_size))
      total.min_size = routine.min_size;
  }
  return total;
}

/// null: the machine model decides which calls can gain.
Json min_size(const config::Settings& settings) {
  if (settings.min_size) return *settings.min_size;
  return config::decide_by(settings) == config::DecideBy::size ? Json(decide::usual_min_size) : Json();
}

Json json_of(const DistributedPrediction& sums) {
  const scalapack::Grid& grid = sums.call->grid();
  return {{"name", scalapack::row(sums.call->call().routine()).name},
          {"arguments", scalapack::call_text(sums.call->call())},
          {"grid", {grid.rows, grid.columns}},
          {"calls", sums.calls},
          {"gathered", sums.gathered},
          {"by_several", sums.by_several},
          {"gpus", sums.gpus},
          {"traced_seconds", sums.traced_seconds},
          {"predicted_seconds", sums.predicted_seconds}};
}

Json json_of(const Prediction& prediction, const Machine& machine, const config::Settings& settings) {
  Json routines = Json::array();
  for (const auto& [name, routine] : prediction.routines) {
    Json row{{"name", name}};
    row.update(json_of(routine));
    routines.push_back(std::move(row));
  }
  Json distributed = Json::array();
  for (const auto& [call, sums] : prediction.distributed) distributed.push_back(json_of(sums));
  Json refusals = Json::array();
  for (const auto& [reason, calls] : prediction.refusals) refusals.push_back({{"reason", reason}, {"calls", calls}});
  Json copied = Json::array();
  for (const auto& [reason, calls] : prediction.copied) copied.push_back({{"reason", reason}, {"calls", calls}});
  return {{"name", machine.model().name},
          {"memory", machine.memory},
          {"traced_seconds", prediction.traced_seconds},
          {"predicted_seconds", prediction.predicted_seconds},
          {"opening_seconds", prediction.opening_seconds},
          {"policy", prediction.policy},
          {"min_size", min_size(settings)},
          {"cpu", prediction.cpu_scaled ? "scaled"
                  : machine.simulated   ? "simulated"
                                        : "as traced"},
          {"peak_memory", prediction.peak_memory},
          {"totals", json_of(total_of(prediction))},
          {"routines", std::move(routines)},
          {"distributed", std::move(distributed)},
          {"refusals", std::move(refusals)},
          {"copied", std::move(copied)}};
}

/// Whether all ranks of a grid call the routine together.
bool is_distributed(const std::string& routine) {
  return std::any_of(std::begin(scalapack::routine_table), std::end(scalapack::routine_table),
                     [&](const auto& row) { return routine == row.name; });
}

/// Adds the calls that were made but not recorded.
void add_unrecorded(RoutineCount& sums, const RoutineCount& all, const RoutineCount& recorded) {
  if (all.calls > recorded.calls) sums.calls += all.calls - recorded.calls;
  sums.seconds += std::max(0.0, all.seconds - recorded.seconds);
}

/// Facts about the traces besides the replayed calls.
Json remarks_of(const std::vector<Trace>& traces) {
  std::uint64_t unasked = 0;
  std::uint64_t unread = 0;
  bool complete = true;
  RoutineCount small;
  RoutineCount counted;  // distributed calls
  for (const Trace& trace : traces) {
    unasked += trace.unasked;
    unread += trace.unread;
    complete = complete && trace.complete;
    RoutineCount all;
    RoutineCount distributed;
    for (const auto& [name, routine] : trace.routines) {
      RoutineCount& sums = is_distributed(name) ? distributed : all;
      sums.calls += routine.calls;
      sums.seconds += routine.seconds;
    }
    RoutineCount recorded;
    RoutineCount recorded_distributed;
    for (const TracedCall& call : trace.calls) {
      RoutineCount& sums = call.distributed ? recorded_distributed : recorded;
      sums.calls += static_cast<std::uint64_t>(call.weight);
      sums.seconds += call.weight * call.seconds.value_or(0);
    }
    add_unrecorded(small, all, recorded);
    add_unrecorded(counted, distributed, recorded_distributed);
  }
  return {{"unknown_writes", unasked},
          {"unread_calls", unread},
          {"complete", complete},
          {"small_calls", small.calls},
          {"small_seconds", small.calls > 0 ? small.seconds : 0},
          {"distributed_calls", counted.calls},
          {"distributed_seconds", counted.calls > 0 ? counted.seconds : 0}};
}

/// Sums over the distributed calls of a job, as NVIDIA's libraries on these GPUs would make them.
Json on_gpus(const std::vector<Trace>& traces, const Machine& machine, const decide::GpuGrid& grid) {
  double calls = 0, left_out = 0, traced = 0;
  decide::LibrarySeconds sum;
  for (const Trace& trace : traces) {
    constexpr bool one_node = false;  // nothing stays between calls
    SharedPlaces places(4 * trace.memory, one_node);
    const decide::GatheringRule rule;
    for (const TracedCall& call : trace.calls) {
      if (!call.distributed || !call.distributed->whole) continue;
      const auto whole = call.distributed->failed ? nullptr : places.place(call);
      const double gpus = grid.size();
      const bool fits =
          whole && static_cast<double>(whole->problem.device_bytes()) / gpus <= static_cast<double>(machine.memory);
      const bool able =
          fits && device::may_run_in_team(whole->operation) && decide::knows_device(machine.model(), whole->solve);
      if (!able) {
        ++left_out;
        continue;
      }
      const int ranks = call.distributed->whole->grid().size();
      const double moved = whole->problem.call().moved_bytes();
      double moving = rule.moving_seconds(moved, ranks, true);
      if (grid.nodes > 1) moving = std::max(moving, moved / grid.bandwidth);
      const auto seconds =
          decide::library_seconds(machine.model(), {.solve = whole->solve, .ranks = ranks, .moving = moving}, grid);
      ++calls;
      traced += call.elapsed;
      sum.computing += seconds.computing;
      sum.exchanging += seconds.exchanging;
      sum.moving += seconds.moving;
    }
  }
  return {{"nodes", grid.nodes},
          {"gpus", grid.size()},
          {"calls", calls},
          {"left_out", left_out},
          {"traced_seconds", traced},
          {"seconds", sum.all()},
          {"computing_seconds", sum.computing},
          {"exchanging_seconds", sum.exchanging},
          {"moving_seconds", sum.moving}};
}

/// For each number of nodes in `asked`: nodes, gpus_per_node, bandwidth, latency.
Json on_nodes(const std::vector<Trace>& traces, const Machine& machine, const Json& asked) {
  Json rows = Json::array();
  for (const Json& nodes : asked.at("nodes"))
    rows.push_back(on_gpus(traces, machine,
                           {.nodes = nodes,
                            .gpus_per_node = asked.at("gpus_per_node"),
                            .bandwidth = asked.at("bandwidth"),
                            .latency = asked.at("latency")}));
  return rows;
}

tl::expected<Json, std::string> predict(const config::Settings& settings, const Json& request) {
  auto machine = request.contains("simulated")
                     ? simulated_machine(request["simulated"], settings.simulated_memory.bytes)
                     : read_machine(request.at("machine"));
  if (!machine) return tl::unexpected(machine.error());
  if (const auto routines = runtime::read_routines(settings.routines); !routines)
    return tl::unexpected("invalid value --routines=" + settings.routines + ": " + routines.error());
  std::optional<decide::ModelFile> source;
  if (request.contains("source"))
    if (auto read = decide::parse_model(request["source"].get<std::string>())) source = std::move(*read);
  // Never freed: operations and devices refer to it.
  auto& traces = *new std::vector<Trace>();
  for (const Json& path : request.at("traces")) {
    auto trace = read_trace(path);
    if (!trace) return tl::unexpected(trace.error());
    traces.push_back(std::move(*trace));
  }
  auto& lasting = *new Machine(std::move(*machine));
  auto& settled = *new config::Settings(settings);
  settled.device = lasting.simulated ? "simulated" : device::default_kind.name;
  const Layout layout{.gpus = request.value("gpus", 1), .ranks_per_gpu = request.value("ranks_per_gpu", 1)};
  const decide::ModelFile* const measured = source ? &*source : nullptr;
  const auto first = replay(traces, lasting, measured, layout, settled, History::none);
  if (!first) return tl::unexpected(first.error());
  const auto later = replay(traces, lasting, measured, layout, settled, History::gains);
  if (!later) return tl::unexpected(later.error());
  const bool at_once = opens_at_once(*later, lasting.open_seconds() + lasting.close_seconds());
  Json result = json_of(*first, lasting, settled);
  result["later_seconds"] = (at_once ? *later : *first).predicted_seconds;
  result["opens_at_once"] = at_once;
  if (request.contains("on_nodes")) result["on_nodes"] = on_nodes(traces, lasting, request["on_nodes"]);
  result.update(remarks_of(traces));
  return result;
}

}  // namespace

std::string prediction_json(const config::Settings& settings, const std::string& request) {
  Json result;
  try {
    auto predicted = predict(settings, Json::parse(request));
    result = predicted ? std::move(*predicted) : Json{{"error", predicted.error()}};
  } catch (const Json::exception& error) {
    result = {{"error", std::string("the request is not understood: ") + error.what()}};
  }
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace blastoff::prediction
