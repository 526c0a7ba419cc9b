#include "prediction/trace.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "prediction/address_space.h"
#include "prediction/recorded_operation.h"
#include "prediction/unasked_writes.h"
#include "residency/footprint.h"

namespace blastoff::prediction {
namespace {

using Json = nlohmann::json;
using platform::Span;

/// The latest version of the trace's format that can be read. Version 1 has no distributed calls.
constexpr int latest_version = 2;

std::vector<Span> spans_of(const Json& line, const char* key) {
  std::vector<Span> spans;
  const auto found = line.find(key);
  if (found == line.end() || !found->is_array()) return spans;
  for (const Json& each : *found) {
    const auto begin = each.at(0).get<std::uintptr_t>();
    spans.push_back({begin, begin + each.at(1).get<std::uintptr_t>()});
  }
  return spans;
}

operation::Operand operand_of(const Json& fields) {
  operation::Operand operand;
  operand.address = reinterpret_cast<void*>(fields.at(0).get<std::uintptr_t>());
  operand.rows = fields.at(1);
  operand.columns = fields.at(2);
  operand.leading_dimension = fields.at(3);
  operand.element_size = fields.at(4);
  operand.part = static_cast<operation::Part>(std::clamp(fields.at(5).get<int>(), 0, 2));
  operand.intent = static_cast<operation::Intent>(std::clamp(fields.at(6).get<int>(), 0, 3));
  operand.transient = fields.at(7) != 0;
  return operand;
}

DistributedCall distributed_of(const std::string& routine, const Json& fields) {
  DistributedCall call{.number = fields.at("call"), .failed = fields.contains("failed")};
  if (fields.contains("words")) call.whole = RecordedCall::read(routine, fields);
  return call;
}

std::optional<TracedCall> call_of(const Json& line) {
  Description description;
  description.routine = line.at("routine");
  description.arguments = line.at("arguments");
  description.work = {line.at("flops"), line.at("volume"), line.at("depth"), line.contains("memory_bound")};
  description.shape = line.value("shape", std::uint64_t{0});
  description.may_fail = line.contains("may_fail");
  for (const Json& fields : line.at("operands")) description.operands.push_back(operand_of(fields));
  const auto operation = operation_of(description);
  if (!operation) return std::nullopt;
  TracedCall call;
  call.operation = *operation;
  if (const auto distributed = line.find("distributed"); distributed != line.end())
    call.distributed = distributed_of(description.routine, *distributed);
  call.start = line.at("start");
  if (!line.at("seconds").is_null()) call.seconds = line.at("seconds").get<double>();
  call.elapsed = line.at("elapsed");
  call.thread = line.at("thread");
  call.weight = line.value("weight", 1.0);
  call.gone = spans_of(line, "gone");
  call.written = spans_of(line, "written");
  if (const auto written = line.find("written"); written != line.end()) call.asked = !written->is_null();
  if (const auto found = line.find("untracked"); found != line.end())
    for (const Json& each : *found) {
      const auto begin = each.at(0).get<std::uintptr_t>();
      call.untracked.emplace_back(Span{begin, begin + each.at(1).get<std::uintptr_t>()}, each.at(2).get<std::string>());
    }
  return call;
}

void read_header(const Json& header, Trace& trace) {
  trace.program = header.value("program", "");
  trace.is_rank = header.contains("rank") && header["rank"].is_number();
  trace.command_line = header.value("command_line", "");
  trace.host = header.value("host", "");
  trace.cpu = header.value("cpu", "");
  trace.writes = header.value("writes", "");
  trace.cores = std::max(1, header.value("cores", 1));
  trace.threads = std::max(1, header.value("threads", 1));
  trace.memory = header.value("memory", std::size_t{0});
  trace.min_size = header.value("min_size", std::int64_t{0});
}

void read_end(const Json& line, Trace& trace) {
  trace.elapsed = line.at("end");
  trace.complete = true;
  for (const auto& [name, routine] : line.at("routines").items())
    trace.routines[name] = {routine.at("calls"), routine.at("seconds")};
}

void read_line(const Json& line, Trace& trace) {
  if (line.contains("end")) return read_end(line, trace);
  auto call = call_of(line);
  if (!call) {
    ++trace.unread;
    return;
  }
  call->site = trace.sites.try_emplace(line.value("site", ""), trace.sites.size()).first->second;
  if (!call->asked) ++trace.unasked;
  if (!trace.complete) trace.elapsed = std::max(trace.elapsed, call->start + call->elapsed);
  trace.calls.push_back(std::move(*call));
}

/// Moves all memory of the trace to addresses of this process.
tl::expected<void, std::string> settle(Trace& trace) {
  AddressSpace space;
  for (const TracedCall& call : trace.calls)
    for (const operation::Operand& operand : call.operation.operands())
      if (!operand.empty()) space.add(residency::bounds(operand));
  if (auto reserved = space.reserve(); !reserved) return reserved;
  const auto moved = [&](const std::vector<Span>& spans) {
    std::vector<Span> result;
    for (const Span span : spans)
      for (const Span part : space.of(span)) result.push_back(part);
    return result;
  };
  for (TracedCall& call : trace.calls) {
    for (operation::Operand& operand : call.operation.operands())
      if (!operand.empty())
        operand.address = reinterpret_cast<void*>(space.at(reinterpret_cast<std::uintptr_t>(operand.address)));
    call.gone = moved(call.gone);
    call.written = moved(call.written);
    auto untracked = std::exchange(call.untracked, {});
    for (const auto& [span, why] : untracked)
      for (const Span part : space.of(span)) call.untracked.emplace_back(part, why);
  }
  return {};
}

}  // namespace

tl::expected<Trace, std::string> read_trace(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!file || !std::getline(file, text)) return tl::unexpected(path + " cannot be read");
  const Json header = Json::parse(text, nullptr, false);
  if (!header.is_object() || !header.contains("blastoff_trace")) return tl::unexpected(path + " is no trace");
  const Json& version = header["blastoff_trace"];
  if (!version.is_number_integer() || version < 1 || version > latest_version)
    return tl::unexpected(path + " is a trace of another version of Blastoff");
  Trace trace;
  try {
    read_header(header, trace);
    while (std::getline(file, text)) {
      const Json line = Json::parse(text, nullptr, false);
      if (line.is_discarded() && file.peek() == std::char_traits<char>::eof()) break;  // cut off
      if (!line.is_object()) return tl::unexpected(path + " has a line that is not JSON");
      read_line(line, trace);
    }
  } catch (const Json::exception& error) {
    return tl::unexpected(path + " has a line that is not understood: " + error.what());
  }
  std::ranges::stable_sort(trace.calls, {}, &TracedCall::start);
  if (auto settled = settle(trace); !settled) return tl::unexpected(settled.error());
  fill_in_unasked_writes(trace.calls);
  return trace;
}

}  // namespace blastoff::prediction
