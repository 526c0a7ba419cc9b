#include "trace/tracer.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "operation/front_end.h"
#include "operation/operation.h"
#include "platform/caller.h"
#include "platform/log.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "report/file.h"
#include "report/recorder.h"

namespace blastoff::trace {
namespace {

// Writes the lines of a trace, which are JSON objects.

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

/// Returns the first line. `method`: how writes are found.
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

/// Returns the line of a call. `thread`: its number, in the order in which threads made their first calls.
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

/// Returns the last line.
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

std::atomic<int> threads_seen{0};
[[gnu::tls_model("initial-exec")]] constinit thread_local int own_number = -1;

int thread_number() {
  if (own_number < 0) own_number = threads_seen.fetch_add(1);
  return own_number;
}

}  // namespace

void Tracer::give_up() {
  if (given_up_.exchange(true)) return;
  platform::log_line("out of memory: the trace ends here");
}

/// To be called with the lock held. Returns false if there is no file.
bool Tracer::begin_file(bool may_track) {
  if (file_) return true;
  std::unique_ptr<tracking::PageTracker> tracker;
  if (may_track)
    if (auto opened = tracking::open_page_tracker(setup_.tracker)) tracker = std::move(*opened);
  writes_ = std::make_unique<Writes>(std::move(tracker));
  const std::string header = header_line(setup_, writes_->method()) + "\n";
  const std::string path = report::begin_file(setup_.pattern, header, setup_.context);
  if (path.empty()) {
    platform::log_line("cannot write a trace to %.400s", setup_.pattern.c_str());
    given_up_ = true;
    return false;
  }
  file_ = std::make_unique<File>(path, header.size(), setup_.limit, setup_.may_end_any_time);
  return true;
}

Tracer::Call* Tracer::begin(const operation::Operation& operation, const void* caller) {
  if (given_up_) return nullptr;
  const std::lock_guard lock(mutex_);
  try {
    if (!begin_file(setup_.may_track)) return nullptr;
    if (!file_->takes_next()) {
      writes_->pass_over(operation);
      return nullptr;
    }
    auto call = std::make_unique<Call>();
    call->weight = file_->weight();
    call->caller = caller;
    call->found = writes_->before(operation);
    call->start = seconds();
    return call.release();
  } catch (const std::bad_alloc&) {
    give_up();
  }
  return nullptr;
}

void Tracer::end(Call* call, const operation::Operation& operation, std::optional<double> seconds, double elapsed) {
  const std::unique_ptr<Call> ended(call);
  if (!ended || given_up_) return;
  const std::lock_guard lock(mutex_);
  try {
    writes_->after(operation, ended->found.asked);
    // It is one call on all ranks, whose files may have grown differently, so it cannot stand for others.
    if (!ended->distributed.empty() && ended->weight > 1) return;
    file_->append(call_line(*ended, operation, thread_number(), seconds, elapsed));
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

void Tracer::finish(const report::Totals& totals) {
  if (given_up_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);  // does not wait for a thread that is still recording
  if (!lock) return;
  try {
    const auto called = [](const report::RoutineTotals& routine) { return routine.calls > 0; };
    if (!file_ && (std::ranges::none_of(totals.routines, called) || !begin_file(false))) return;
    file_->append(end_line(totals, seconds()));
    file_->flush();
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

}  // namespace blastoff::trace
