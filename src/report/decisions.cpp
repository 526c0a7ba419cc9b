#include "report/decisions.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "operation/amounts.h"
#include "operation/front_end.h"
#include "platform/fork_guard.h"
#include "platform/quantity.h"

namespace blastoff::report {
namespace {

using platform::format_bytes;
using platform::format_duration;
using platform::format_seconds;

/// If a program has more shapes, the later ones are not kept.
constexpr std::size_t max_classes = 4096;

/// Routine, reason, and the logarithms of work and data in steps of a factor of the square root of 2.
using Key = std::tuple<operation::RoutineId, Refusal, std::int64_t, std::int64_t>;
using Table = std::map<Key, Decisions>;

constinit std::atomic<std::size_t> max_decisions{0};
constinit std::mutex mutex;

/// Never destroyed: calls may still end while the process does.
Table& table() {
  static Table& result = *new Table;
  return result;
}

Key key_of(const operation::Operation& operation, Refusal refusal) {
  return {operation.routine(), refusal, operation::half_octave(operation.work.flops),
          operation::half_octave(static_cast<double>(part_bytes(operation)))};
}

void add(Decisions& sums, const Prediction& predicted, double seconds, std::uint64_t left_bytes) {
  ++sums.calls;
  sums.left_bytes += left_bytes;
  sums.seconds += seconds;
  if (predicted.device_seconds == 0) return;
  ++sums.judged;
  sums.predicted.device_seconds += predicted.device_seconds;
  sums.predicted.bringing_seconds += predicted.bringing_seconds;
  sums.predicted.missing_bytes += predicted.missing_bytes;
  if (predicted.cpu_seconds == 0) return;
  ++sums.known;
  sums.predicted.cpu_seconds += predicted.cpu_seconds;
}

/// The mean for one call; "-" if there was none.
std::string mean_seconds(double sum, std::uint64_t calls) {
  return calls == 0 ? "-" : format_duration(sum / static_cast<double>(calls));
}

std::string line(const Decisions& each) {
  const std::string missing =
      each.judged == 0
          ? "-"
          : format_bytes(static_cast<std::uint64_t>(each.predicted.missing_bytes / static_cast<double>(each.judged)));
  return fmt::format(
      "  {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {} {}: {}\n", format_seconds(each.seconds), each.calls,
      mean_seconds(each.seconds, each.calls), mean_seconds(each.predicted.cpu_seconds, each.known),
      mean_seconds(each.predicted.device_seconds, each.judged),
      mean_seconds(each.predicted.bringing_seconds, each.judged), missing, format_bytes(each.left_bytes / each.calls),
      operation::routine_name(each.routine), each.example, refusal_text(each.refusal));
}

}  // namespace

void explain_decisions(std::size_t most) {
  max_decisions.store(most, std::memory_order_relaxed);
}

bool explains_decisions() {
  return max_decisions.load(std::memory_order_relaxed) > 0;
}

void add_decision(const operation::Operation& operation, Refusal refusal, const Prediction& predicted, double seconds,
                  std::uint64_t left_bytes) {
  const Key key = key_of(operation, refusal);
  const platform::ForkGuard guard;
  const std::lock_guard lock(mutex);
  auto found = table().find(key);
  if (found == table().end()) {
    if (table().size() == max_classes) return;
    found = table().emplace(key, Decisions()).first;
    found->second.routine = operation.routine();
    found->second.refusal = refusal;
  }
  Decisions& sums = found->second;
  add(sums, predicted, seconds, left_bytes);
  if (seconds <= sums.longest && !sums.example.empty()) return;
  sums.longest = seconds;
  sums.example = operation.arguments();
}

std::vector<Decisions> dearest_decisions() {
  std::vector<Decisions> result;
  const platform::ForkGuard guard;
  const std::lock_guard lock(mutex);
  for (const auto& [key, decisions] : table()) result.push_back(decisions);
  std::ranges::stable_sort(result, std::greater(), &Decisions::seconds);
  result.resize(std::min(result.size(), max_decisions.load(std::memory_order_relaxed)));
  return result;
}

void forget_decisions() {
  if (explains_decisions()) table().clear();
}

std::string to_text(const std::vector<Decisions>& decisions) {
  if (decisions.empty()) return "";
  std::string text =
      "\n  decisions, those that took longest first; means of a call: what it took, what was predicted for the CPU,\n"
      "  for the device with all matrices there, for bringing those that were missing, and their size; and how\n"
      "  much of the results stayed on the device\n\n";
  text += fmt::format("  {:>9} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "seconds", "calls", "took", "CPU",
                      "device", "bringing", "missing", "stays");
  for (const Decisions& each : decisions) text += line(each);
  return text + "\n";
}

}  // namespace blastoff::report
