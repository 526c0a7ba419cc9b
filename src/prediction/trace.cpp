#include "prediction/trace.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "platform/interval_set.h"
#include "prediction/address_space.h"
#include "prediction/recorded_operation.h"
#include "residency/footprint.h"

namespace blastoff::prediction {
namespace {

// Guesses what a program wrote before calls for which tracing did not look for writes.

using operation::Operand;
using platform::IntervalSet;
using platform::Span;

/// One operand of the calls at one place: site, routine, number of the operand.
using Place = std::tuple<std::size_t, operation::RoutineId, std::size_t>;

/// What happened to an operand's memory since its last use.
struct Change {
  std::size_t call;  ///< the call before which the change was seen
  double gone;       ///< share of its bytes that the program freed
  double written;
};

/// The changes of an operand, in the order of the calls.
struct Changes {
  std::vector<Change> between_two_uses;
  std::vector<Change> since_some_use;
};

double share_of(const IntervalSet& set, Span span) {
  std::size_t outside = 0;
  set.each_gap(span, [&](Span gap) { outside += gap.bytes(); });
  return 1 - static_cast<double>(outside) / static_cast<double>(span.bytes());
}

/// Follows the memory of the operands from call to call.
class Uses {
 public:
  struct Use {
    bool before = false;        ///< the memory has been used before
    bool asked_before = false;  ///< tracing looked for writes before that use
    double gone = 0;            ///< share of the memory that has gone since that use
  };

  void lose(const TracedCall& call) {
    for (const Span span : call.gone) gone_.add(span);
  }

  /// `call` uses the matrix now.
  Use next(const TracedCall& call, Span matrix) {
    const auto [last, first] = asked_.try_emplace(matrix.begin, call.asked);
    const Use use{.before = !first, .asked_before = !first && last->second, .gone = share_of(gone_, matrix)};
    last->second = call.asked;
    gone_.remove(matrix);
    return use;
  }

 private:
  std::map<std::uintptr_t, bool> asked_;  ///< begin of the memory -> TracedCall::asked of its last use
  IntervalSet gone_;                      ///< memory that has gone since its last use
};

std::map<Place, Changes> seen_changes(const std::vector<TracedCall>& calls) {
  std::map<Place, Changes> places;
  Uses uses;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    const TracedCall& call = calls[number];
    uses.lose(call);
    IntervalSet written;
    for (const Span span : call.written) written.add(span);
    residency::each_distinct_matrix(call.operation, [&](std::size_t number_of_operand, const Operand& operand) {
      const Span matrix = residency::bounds(operand);
      const Uses::Use use = uses.next(call, matrix);
      if (!call.asked || !use.before) return;
      Changes& changes = places[{call.site, call.operation.routine(), number_of_operand}];
      (use.asked_before ? changes.between_two_uses : changes.since_some_use)
          .push_back({number, use.gone, share_of(written, matrix)});
    });
  }
  return places;
}

const Change* nearest(const std::vector<Change>& changes, std::size_t call) {
  if (changes.empty()) return nullptr;
  const auto later = std::ranges::lower_bound(changes, call, {}, &Change::call);
  return later == changes.begin() ? &*later : &*std::prev(later);
}

const Change* likely_change(const Changes& changes, std::size_t call) {
  const Change* const direct = nearest(changes.between_two_uses, call);
  return direct != nullptr ? direct : nearest(changes.since_some_use, call);
}

Span first_part(Span span, double share) {
  return {span.begin, span.begin + static_cast<std::size_t>(share * static_cast<double>(span.bytes()))};
}

/// Fills in `written` and `gone` of the calls before which tracing did not look for writes (TracedCall::asked). Each
/// matrix of such a call that was used before is assumed to have changed as much as the same operand of another call of
/// the routine at the same place: the latest call for which tracing looked, or else the next one. Calls for which
/// tracing looked at two uses in a row tell what happened between two uses, and come first. Others count only if there
/// is none of these, since their writes may be those before several uses. If no call tells anything, nothing was
/// written. `calls`: in the order of their starts.
void fill_in_unasked_writes(std::vector<TracedCall>& calls) {
  const std::map<Place, Changes> places = seen_changes(calls);
  Uses uses;
  for (std::size_t number = 0; number < calls.size(); ++number) {
    TracedCall& call = calls[number];
    uses.lose(call);
    residency::each_distinct_matrix(call.operation, [&](std::size_t number_of_operand, const Operand& operand) {
      const Span matrix = residency::bounds(operand);
      const Uses::Use use = uses.next(call, matrix);
      if (call.asked || !use.before || use.gone > 0) return;
      const auto place = places.find({call.site, call.operation.routine(), number_of_operand});
      if (place == places.end()) return;
      const Change* const change = likely_change(place->second, number);
      // Memory is freed as a whole, but its last page may be the first page of another matrix.
      if (change->gone > 0.5) call.gone.push_back(platform::outward_to_pages(matrix));
      if (const Span written = first_part(matrix, change->written); written.bytes() >= platform::page_size())
        call.written.push_back(platform::outward_to_pages(written));
    });
  }
}

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
