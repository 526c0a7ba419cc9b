#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "operation/front_end.h"
#include "platform/printable.h"
#include "platform/quantity.h"
#include "report/summary.h"

namespace blastoff::report {

namespace {

using platform::format_bytes;
using platform::format_duration;
using platform::format_number;
using platform::format_seconds;
using platform::printable;

using Text = std::back_insert_iterator<std::string>;

constexpr std::size_t min_name_width = 9;

// The formats of report/counters.def.
/// "1 call", "2 calls".
std::string counted(std::uint64_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

std::string count(std::uint64_t value, const RoutineTotals&) {
  return std::to_string(value);
}
std::string seconds(double value, const RoutineTotals&) {
  return format_seconds(value);
}
std::string bytes(std::uint64_t value, const RoutineTotals&) {
  return format_bytes(value);
}
std::string rate(double flops, const RoutineTotals& sums) {
  const bool timed = sums.device_seconds > 0 && sums.offloaded > 0;
  return timed ? format_number(1e-9 * flops / sums.device_seconds) : "-";
}
/// The value has no column.
template <class Value>
std::string none(Value, const RoutineTotals&) {
  return "";
}

struct Column {
  const char* heading;
  std::size_t width;
  std::string (*cell)(const RoutineTotals& sums);
};

constexpr Column columns[] = {
#define BLASTOFF_COLUMN(name, type, heading, width, format) \
  {heading, width, [](const RoutineTotals& sums) { return format(sums.name, sums); }},
    BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_COLUMN)
#undef BLASTOFF_COLUMN
};

std::size_t columns_width() {
  std::size_t width = 0;
  for (const Column& column : columns) width += column.width;
  return width;
}

/// The columns of calls that all ran on the CPU; python/blastoff/job/view/layout.py has the same for jobs.
struct CpuColumns {
  double seconds = 0;     ///< that all calls took
  double wall_share = 0;  ///< the part of the wall time that all calls took, at most

  static constexpr const char* headings = "     calls     CPU s  CPU GFLOP/s  of wall time";
  void write(Text out, const RoutineTotals& sums) const {
    const double rate = sums.cpu_seconds > 0 ? 1e-9 * sums.flops / sums.cpu_seconds : 0;
    const double part = seconds > 0 ? 100 * wall_share * sums.cpu_seconds / seconds : 0;
    fmt::format_to(out, "{:>10}{:>10}{:>13}{:>14}", sums.calls, format_seconds(sums.cpu_seconds),
                   rate > 0 ? format_number(rate) : "-", fmt::format("{:.0f} %", part));
  }
};

CpuColumns cpu_columns(const Totals& totals, const RoutineTotals& sums, double elapsed_seconds) {
  const double in_calls = sums.wall_seconds + totals.small_seconds;
  return {sums.cpu_seconds, elapsed_seconds > 0 ? std::min(1.0, in_calls / elapsed_seconds) : 0};
}

/// One row for each routine that was called, beginning with the most time, and the sum.
void write_table(Text out, const Totals& totals, const RoutineTotals& all, double elapsed_seconds) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < totals.routines.size(); ++i) {
    if (totals.routines[i].calls > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) {
    return totals.routines[i].cpu_seconds + totals.routines[i].device_seconds;
  });
  const auto name_of = [](std::size_t i) { return operation::routine_name(static_cast<operation::RoutineId>(i)); };
  std::size_t name_width = min_name_width;
  for (const std::size_t i : order) name_width = std::max(name_width, std::string_view(name_of(i)).size());
  const std::optional<CpuColumns> on_cpu =
      all.offloaded == 0 ? std::optional(cpu_columns(totals, all, elapsed_seconds)) : std::nullopt;
  const auto write_row = [&](const char* name, const RoutineTotals& sums) {
    fmt::format_to(out, "  {:<{}}", name, name_width);
    if (on_cpu)
      on_cpu->write(out, sums);
    else
      for (const Column& column : columns) fmt::format_to(out, "{:>{}}", column.cell(sums), column.width);
    *out++ = '\n';
  };
  fmt::format_to(out, "  {:<{}}", "routine", name_width);
  if (on_cpu)
    fmt::format_to(out, CpuColumns::headings);
  else
    for (const Column& column : columns) fmt::format_to(out, "{:>{}}", column.heading, column.width);
  *out++ = '\n';
  for (const std::size_t i : order) write_row(name_of(i), totals.routines[i]);
  if (order.size() == 1) return;
  const std::size_t width = on_cpu ? std::string_view(CpuColumns::headings).size() : columns_width();
  fmt::format_to(out, "  {:-<{}}\n", "", name_width + width);
  write_row("total", all);
}

void write_header(Text out, const Context& context) {
  fmt::format_to(out, "blastoff {}: {}, process {}", BLASTOFF_VERSION, printable(context.program), context.pid);
  if (context.rank >= 0) fmt::format_to(out, ", rank {}", context.rank);
  fmt::format_to(out, " on {}, {}\n", printable(context.host), format_duration(context.elapsed_seconds));
}

/// If there are several devices, a line for each.
void write_devices(Text out, const Context& context) {
  const char* title = "devices";
  for (const DeviceUse& each : context.devices) {
    fmt::format_to(out, "  {:9} {} {}: {}, ", title, printable(each.name), each.index, counted(each.calls, "call"));
    if (each.parts > 0) fmt::format_to(out, "{} of calls, ", counted(each.parts, "part"));
    fmt::format_to(out, "{} to it, {} back, ", format_bytes(each.traffic.bytes_to_device),
                   format_bytes(each.traffic.bytes_from_device));
    if (each.traffic.bytes_between_devices > 0)
      fmt::format_to(out, "{} from other devices, ", format_bytes(each.traffic.bytes_between_devices));
    fmt::format_to(out, "{} of {} for matrices", format_bytes(each.memory_budget), format_bytes(each.memory));
    if (each.state != "working") fmt::format_to(out, ", {}", printable(each.state));
    *out++ = '\n';
    title = "";
  }
}

void write_device(Text out, const Context& context) {
  if (!context.device_absence.empty()) {
    fmt::format_to(out, "  device    {}\n", printable(context.device_absence));
    return;
  }
  if (context.device.name.empty()) {
    fmt::format_to(out, "  device    {}, {}\n", printable(context.device_kind), printable(context.device.state));
    return;
  }
  if (!context.devices.empty()) return write_devices(out, context);
  fmt::format_to(out, "  device    {}", printable(context.device.name));
  if (!context.device_software.empty()) fmt::format_to(out, " ({})", printable(context.device_software));
  if (context.device.memory_budget > 0) {
    fmt::format_to(out, ", {} of {} for matrices", format_bytes(context.device.memory_budget),
                   format_bytes(context.device.memory));
  }
  if (context.device.state != "working") fmt::format_to(out, ", {}", printable(context.device.state));
  *out++ = '\n';
}

void write_policy(Text out, const Context& context) {
  fmt::format_to(out, "  policy    {}", context.policy);
  if (context.mechanism == "moves") {
    fmt::format_to(out, " by moving pages to NUMA node {}", context.memory_node);
  } else if (context.tracker != "none" && !context.tracker.empty()) {
    fmt::format_to(out, ", writes tracked by {}", context.tracker);
  }
  if (!context.policy_reason.empty()) {
    fmt::format_to(out, " instead of {}: {}", context.policy_asked, printable(context.policy_reason));
  }
  if (!context.results_reason.empty()) fmt::format_to(out, "; results go home: {}", printable(context.results_reason));
  *out++ = '\n';
}

void write_placement(Text out, const Context& context) {
  if (!context.pages_moved) return;
  fmt::format_to(out, "  placed    {} on NUMA node {}, {} of it moved there in {}\n",
                 format_bytes(context.placed_bytes), context.memory_node, format_bytes(context.moved_bytes),
                 format_duration(context.moving_seconds));
  for (const auto& [reason, bytes] : context.left_bytes)
    fmt::format_to(out, "            {} stay elsewhere: {}\n", format_bytes(bytes), printable(reason));
}

void write_allocation(Text out, const Context& context) {
  if (!context.allocation || context.allocation->placed_blocks == 0) return;
  const Allocation& allocation = *context.allocation;
  fmt::format_to(out, "  allocated {} large blocks, {}, on pages of their own", allocation.placed_blocks,
                 format_bytes(allocation.placed_bytes));
  if (allocation.bound_bytes > 0)
    fmt::format_to(out, "; {} bound to NUMA node {}", format_bytes(allocation.bound_bytes), allocation.node);
  *out++ = '\n';
}

/// The share of allocations that a pool has served.
std::string served(std::uint64_t hits, std::uint64_t misses) {
  const std::uint64_t all = hits + misses;
  return all == 0 ? "" : fmt::format("{:.0f} %", 100.0 * static_cast<double>(hits) / static_cast<double>(all));
}

/// blastoff/job/view/words.py writes the same about jobs.
void write_blocks(Text out, const Context& context) {
  if (!context.blocks) return;
  const blastoff_blocks_counters& use = *context.blocks;
  fmt::format_to(out, "  blocks    {} acquired, {} without a copy; {} to the device, {} from it", use.acquisitions,
                 use.found_current, format_bytes(use.bytes_to_device), format_bytes(use.bytes_from_device));
  if (use.copies_between_devices > 0)
    fmt::format_to(out, ", {} between devices", format_bytes(use.bytes_between_devices));
  if (use.evictions > 0) fmt::format_to(out, "; {} evictions", use.evictions);
  if (use.contractions > 0)
    fmt::format_to(out, "; {} contractions of {} GFLOP", use.contractions, format_number(1e-9 * use.flops));
  std::string pools;
  if (const std::string host = served(use.host_hits, use.host_misses); !host.empty()) pools = host + " on the host";
  if (const std::string device = served(use.device_hits, use.device_misses); !device.empty())
    pools += (pools.empty() ? "" : ", ") + device + " on the device";
  if (!pools.empty()) fmt::format_to(out, "; pools served {}", pools);
  fmt::format_to(out, "; waited {}\n", format_duration(use.waiting_seconds));
}

void write_interception(Text out, const Interception& interception) {
  std::size_t patched = 0;
  std::size_t refused = 0;
  for (const PatchedObject& object : interception.objects) {
    patched += object.patched.size();
    refused += object.refused.size();
  }
  if (patched + refused == 0) return;
  fmt::format_to(out, "  patched   {} in {}", counted(patched, "function"), format_duration(interception.seconds));
  if (refused > 0) fmt::format_to(out, ", {} could not be patched (--report names them)", counted(refused, "other"));
  *out++ = '\n';
}

/// blastoff/job/view/words.py writes the same about jobs.
void write_cpu(Text out, const std::optional<Cpu>& cpu) {
  if (!cpu) return;
  for (const CpuLibrary& library : cpu->libraries) {
    fmt::format_to(out, "  CPU       {}\n", printable(describe(library)));
    if (!library.advice.empty()) fmt::format_to(out, "            {}\n", printable(library.advice));
  }
}

/// Routines that are only counted. blastoff/job/view/words.py writes the same about jobs.
void write_counted(Text out, const std::vector<CountedRoutine>& routines) {
  for (const CountedRoutine& each : routines)
    fmt::format_to(out, "  counted   {}: {}, {}, {} of it its own\n", each.name, counted(each.calls, "call"),
                   format_duration(each.seconds), format_duration(each.own_seconds));
}

/// Calls that the counts lack. blastoff/job/view/words.py writes the same about jobs.
void write_unseen(Text out, const std::vector<UnseenFamily>& unseen) {
  std::vector<std::string_view> families;
  std::string list;
  for (const UnseenFamily& each : unseen) {
    if (std::ranges::find(families, each.family) != families.end()) continue;
    families.emplace_back(each.family);
    const std::string file = each.object.substr(each.object.find_last_of('/') + 1);
    list += fmt::format("{}{} ({} from {})", list.empty() ? "" : ", ", each.family, printable(each.function),
                        file.empty() ? "the program" : printable(file));
  }
  if (!list.empty()) fmt::format_to(out, "  unseen    not taken and not counted here, if called: {}\n", list);
}

void write_results(Text out, const RoutineTotals& sums, const Context& context) {
  if (sums.bytes_left == 0) return;
  const auto& [overwritten, touched, home] = context.results;
  fmt::format_to(out,
                 "  {} of results stayed on the device: {} never came home ({} were computed anew there), {} came home "
                 "when the program touched them, {} for other reasons\n",
                 format_bytes(sums.bytes_left),
                 format_bytes(std::max(overwritten, sums.bytes_left - std::min(sums.bytes_left, home))),
                 format_bytes(overwritten), format_bytes(touched), format_bytes(home - std::min(home, touched)));
}

void write_reuse(Text out, const RoutineTotals& sums) {
  const double reuse = operand_reuse(sums);
  if (reuse == 0) return;
  fmt::format_to(out, "  each byte that came to the device was used {} times there\n", format_number(reuse));
}

void write_reasons(Text out, const Totals& totals, const Context& context) {
  const char* label = "stayed on the CPU";
  std::uint64_t without_device = 0;  // calls that no device could have taken, before or after that was found out
  for (std::size_t i = 1; i < totals.refusals.size(); ++i) {
    const auto reason = static_cast<Refusal>(i);
    if (totals.refusals[i] == 0) continue;
    if (!context.device_absence.empty() && (reason == Refusal::not_open || reason == Refusal::no_device)) {
      without_device += totals.refusals[i];
      continue;
    }
    fmt::format_to(out, "  {:<18}{:>11}  {}\n", label, totals.refusals[i], refusal_text(reason));
    label = "";
  }
  if (without_device > 0) {
    fmt::format_to(out, "  {:<18}{:>11}  {}\n", label, without_device, refusal_text(Refusal::no_device));
  }
  label = "copied every time";
  for (const auto& [reason, calls] : context.copied_operands) {
    fmt::format_to(out, "  {:<18}{:>11}  {}\n", label, calls, printable(reason));
    label = "";
  }
}

/// The time that Blastoff saved or lost, in wall time. blastoff/job/view/words.py writes the same about jobs.
void write_verdict(Text out, const Totals& totals, const RoutineTotals& sums, const Context& context) {
  if (sums.offloaded == 0) return;
  const Verdict found = verdict(totals, sums, context);
  const double share = sums.flops > 0 ? 100 * sums.offloaded_flops / sums.flops : 0;
  fmt::format_to(out, "  verdict   ");
  if (found.known())
    fmt::format_to(out, "{} {} {} of wall time{}; ", found.saved >= 0 ? "saved" : "lost",
                   found.alike ? "about" : "at least", format_duration(std::abs(found.saved)),
                   found.cpu_run > 0 ? fmt::format(" (on the CPU it took {})", format_duration(found.cpu_run)) : "");
  else if (found.known_share < Verdict::min_known_share)
    fmt::format_to(out, "saved: not known (the CPU was timed for {:.0f} % of it); ", 100 * found.known_share);
  else
    fmt::format_to(out, "saved: not known (its threads may overlap otherwise on the CPU); ");
  if (sums.lost_seconds >= 1e-3)
    fmt::format_to(out, "{} lost in {}; ", format_duration(sums.lost_seconds), counted(sums.lost, "call"));
  fmt::format_to(out, "{:.0f} % of the operations seen ran on the device\n", share);
}

void write_verification(Text out, const Verification& verification) {
  if (verification.checked == 0 && verification.stale_pages == 0) return;
  fmt::format_to(out, "  verified  {}, {}, worst relative error {:.1e}, {}\n", counted(verification.checked, "call"),
                 counted(verification.violations, "violation"), verification.worst_relative_error,
                 counted(verification.stale_pages, "stale page"));
}

}  // namespace

std::string to_text(const Totals& totals, const Context& context) {
  const RoutineTotals sums = sum_over_routines(totals);
  std::string text;
  const Text out(text);
  write_header(out, context);
  write_device(out, context);
  write_policy(out, context);
  write_placement(out, context);
  write_allocation(out, context);
  write_blocks(out, context);
  write_interception(out, context.interception);
  write_cpu(out, context.cpu);
  if (sums.calls == 0) {
    fmt::format_to(out, "  no call of BLAS, LAPACK or FFTW was seen\n");
    write_counted(out, context.interception.counted);
    write_unseen(out, context.interception.unseen);
    return text;
  }
  text += '\n';
  write_table(out, totals, sums, context.elapsed_seconds);
  text += '\n';
  write_reuse(out, sums);
  write_results(out, sums, context);
  write_reasons(out, totals, context);
  write_verification(out, totals.verification);
  write_verdict(out, totals, sums, context);
  write_counted(out, context.interception.counted);
  write_unseen(out, context.interception.unseen);
  return text;
}

}  // namespace blastoff::report
