#include "trace/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "operation/front_end.h"
#include "platform/caller.h"
#include "platform/process.h"
#include "platform/threads.h"

namespace blastoff::trace {
namespace {

using Line = std::back_insert_iterator<std::string>;
using platform::Span;

/// If there are more runs, they are joined across the gaps between them, beginning with the smallest gaps.
constexpr std::size_t max_runs = 64;

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<Span> joined(std::vector<Span> runs) {
  std::ranges::sort(runs, {}, &Span::begin);
  for (std::size_t gap = 0; gap == 0 || runs.size() > max_runs; gap = std::max<std::size_t>(2 * gap, 4096)) {
    std::vector<Span> result;
    for (const Span run : runs) {
      if (!result.empty() && run.begin <= result.back().end + gap)
        result.back().end = std::max(result.back().end, run.end);
      else
        result.push_back(run);
    }
    runs = std::move(result);
  }
  return runs;
}

void write_runs(Line line, const char* key, const std::vector<Span>& runs) {
  if (runs.empty()) return;
  fmt::format_to(line, ",\"{}\":[", key);
  const char* separator = "";
  for (const Span run : runs) {
    fmt::format_to(line, "{}[{},{}]", separator, run.begin, run.bytes());
    separator = ",";
  }
  fmt::format_to(line, "]");
}

void write_operands(Line line, const operation::Operation& operation) {
  fmt::format_to(line, ",\"operands\":[");
  const char* separator = "";
  for (const operation::Operand& operand : operation.operands()) {
    fmt::format_to(line, "{}[{},{},{},{},{},{},{},{}]", separator, reinterpret_cast<std::uintptr_t>(operand.address),
                   operand.rows, operand.columns, operand.leading_dimension, operand.element_size,
                   static_cast<int>(operand.part), static_cast<int>(operand.intent), operand.transient ? 1 : 0);
    separator = ",";
  }
  fmt::format_to(line, "]");
}

/// Returns "object+offset"; the object is "" for the program.
std::string site_of(const void* caller) {
  const platform::CodePlace place = platform::code_place(caller);
  return quoted(fmt::format("{}+{:#x}", place.object, place.offset));
}

}  // namespace

std::string header_line(const Setup& setup, const char* method) {
  const report::Context& context = setup.context;
  std::string text;
  // `run` has the same value as in a report: it tells other processes of the run that the file belongs to it.
  fmt::format_to(Line(text), "{{\"blastoff_trace\": {}, \"run\": {}, \"program\": {}, \"command_line\": {}", version,
                 quoted(context.run), quoted(context.program), quoted(context.command_line));
  fmt::format_to(Line(text), ", \"host\": {}, \"pid\": {}, \"rank\": {}", quoted(context.host), context.pid,
                 context.rank < 0 ? "null" : std::to_string(context.rank));
  const int requested = platform::requested_threads();
  const int cores = platform::cpu_count();
  fmt::format_to(Line(text), ", \"cpu\": {}, \"cores\": {}, \"threads\": {}, \"memory\": {}",
                 quoted(platform::cpu_name()), cores, requested > 0 ? std::min(requested, cores) : cores,
                 platform::physical_memory());
  fmt::format_to(Line(text), ", \"min_size\": {}, \"min_volume\": {}, \"writes\": \"{}\"}}", setup.min_size,
                 setup.floor_volume, method);
  return text;
}

std::string call_line(const Tracer::Call& call, const operation::Operation& operation, int thread,
                      std::optional<double> seconds, double elapsed) {
  std::string text;
  const Line line(text);
  const operation::Work& work = operation.work;
  fmt::format_to(line, "{{\"routine\":\"{}\",\"arguments\":{},\"start\":{:.7f},\"seconds\":{},\"elapsed\":{:.7f}",
                 operation.name(), quoted(operation.arguments()), call.start,
                 seconds ? fmt::format("{:.7f}", *seconds) : "null", elapsed);
  fmt::format_to(line, ",\"thread\":{},\"site\":{},\"flops\":{:.6g},\"volume\":{:.6g},\"depth\":{:.6g}", thread,
                 site_of(call.caller), work.flops, work.volume, work.depth);
  if (work.memory_bound) fmt::format_to(line, ",\"memory_bound\":1");
  if (operation.shape != 0) fmt::format_to(line, ",\"shape\":{}", operation.shape);
  if (operation.may_fail) fmt::format_to(line, ",\"may_fail\":1");
  if (call.weight > 1) fmt::format_to(line, ",\"weight\":{}", call.weight);
  write_operands(line, operation);
  if (!call.distributed.empty()) fmt::format_to(line, ",\"distributed\":{}", call.distributed);
  if (!call.places.empty()) fmt::format_to(line, ",\"places\":{}", quoted(call.places));
  write_runs(line, "gone", call.found.gone);
  if (!call.found.asked && call.found.written.empty()) fmt::format_to(line, ",\"written\":null");
  write_runs(line, "written", joined(call.found.written));
  if (!call.found.untracked.empty()) {
    fmt::format_to(line, ",\"untracked\":[");
    const char* separator = "";
    for (const auto& [span, why] : call.found.untracked) {
      fmt::format_to(line, "{}[{},{},{}]", separator, span.begin, span.bytes(), quoted(why));
      separator = ",";
    }
    fmt::format_to(line, "]");
  }
  text += '}';
  return text;
}

std::string end_line(const report::Totals& totals, double elapsed) {
  nlohmann::ordered_json routines = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < totals.routines.size(); ++i) {
    const report::RoutineTotals& routine = totals.routines[i];
    if (routine.calls == 0) continue;
    routines[operation::routine_name(static_cast<operation::RoutineId>(i))] = {
        {"calls", routine.calls}, {"seconds", routine.cpu_seconds}, {"flops", routine.flops}};
  }
  return nlohmann::ordered_json{{"end", elapsed}, {"routines", std::move(routines)}}.dump();
}

}  // namespace blastoff::trace
