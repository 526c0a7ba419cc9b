#include "runtime/run_history.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platform/fnv_hash.h"
#include "platform/process.h"
#include "platform/reserve.h"
#include "report/file.h"
#include "report/summary.h"
#include "residency/mirror/tracking_heuristic.h"
#include "runtime/earlier_run_json.h"
#include "runtime/user_cache.h"

namespace blastoff::runtime {

namespace {

using Json = nlohmann::json;
using report::EarlierRun;

/// Version of the files' format.
constexpr int version = 7;

/// Machines, libraries and data change, so older files are not used.
constexpr std::chrono::seconds max_age = std::chrono::hours(24 * 30);

/// If the device's gain exceeds the price of opening by this factor, the next run opens it at once. Times scatter, and
/// a program that has gained little may gain less next time.
constexpr double clear_gain = 1.25;

/// A gain of less than this many times the price has to show in the times of whole runs.
constexpr double beyond_doubt = 4;

/// The same for ranks that wait for each other, as long as there was no whole run without the device. Such a trial run
/// takes as long as the CPU.
constexpr double worth_no_trial = 2;

/// A program pays at least this share of the price, even if the device is opened while it does other things: both share
/// memory, locks of the kernel, and the clock of the cores.
constexpr double min_visible = 0.25;

/// Runs that spend a smaller share of the price on calls that are worth the device never come near opening it. They
/// leave no file.
constexpr double min_share = 0.5;

constexpr const char* folder = "runs";

/// `opening_ahead`: number of a process that opens the device ahead, or 0.
std::string text_of(std::uint64_t command, const RunTimes& run, const std::vector<std::uint64_t>& used_once,
                    int opening_ahead) {
  const platform::FromReserve for_json;
  const Json file = {{"version", version},
                     {"command", fmt::format("{:016x}", command)},
                     {"flops", run.flops},
                     {"cpu_seconds", run.cpu},
                     {"device_seconds", run.device},
                     {"opening_seconds", run.opening},
                     {"opened_at_once", run.opened_at_once},
                     {"for_all_ranks", run.for_all},
                     {"lead_seconds", run.lead},
                     {"with_device", json_of(run.with_device)},
                     {"without_device", json_of(run.without_device)},
                     {"opening_ahead", opening_ahead},
                     {"used_once", used_once}};
  return file.dump() + "\n";
}

struct Known {
  RunTimes times;
  std::vector<std::uint64_t> used_once;
};

/// Whether that process still runs. If it has this process's own number, an earlier process had the number.
bool runs_still(std::int64_t process) {
  return process != getpid() && (kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM);
}

/// nullopt if the file belongs to another command, or was not written by text_of().
std::optional<Known> parse(const std::string& text, std::uint64_t command) {
  const platform::FromReserve for_json;
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_object() || file.value("version", Json()) != version) return std::nullopt;
  if (file.value("command", Json()) != fmt::format("{:016x}", command)) return std::nullopt;
  bool right = true;
  const auto amount = [&](const char* key) {
    const Json found = file.value(key, Json());
    const double value = found.is_number() ? found.get<double>() : -1;
    right = right && std::isfinite(value) && value >= 0;
    return value;
  };
  RunTimes run{amount("flops"), amount("cpu_seconds"), amount("device_seconds"), amount("opening_seconds")};
  const Json at_once = file.value("opened_at_once", Json());
  right = right && at_once.is_boolean();
  const Json for_all = file.value("for_all_ranks", Json());
  right = right && for_all.is_boolean();
  if (right) {
    run.opened_at_once = at_once.get<bool>();
    run.for_all = for_all.get<bool>();
  }
  run.lead = amount("lead_seconds");
  const auto with_device = run_in(file.value("with_device", Json()));
  const auto without_device = run_in(file.value("without_device", Json()));
  right = right && with_device && without_device;
  run.with_device = with_device.value_or(EarlierRun{});
  run.without_device = without_device.value_or(EarlierRun{});
  const Json ahead = file.value("opening_ahead", Json());
  right = right && ahead.is_number_integer() && ahead >= 0 && ahead <= std::numeric_limits<pid_t>::max();
  if (right && ahead > 0 && !runs_still(ahead.get<std::int64_t>())) run.lead = 0;
  std::vector<std::uint64_t> used_once;
  const Json kinds = file.value("used_once", Json());
  right = right && kinds.is_array() && kinds.size() <= residency::mirror::TrackingHeuristic::max_kinds;
  for (std::size_t i = 0; right && i < kinds.size(); ++i) {
    right = kinds[i].is_number_unsigned();
    if (right) used_once.push_back(kinds[i].get<std::uint64_t>());
  }
  return right && run.flops > 0 ? std::optional(Known{run, used_once}) : std::nullopt;
}

bool differ(double one, double other) {
  return std::max(one, other) > OpenPolicy::scatter * std::min(one, other);
}

bool differ(const EarlierRun& one, const EarlierRun& other) {
  return one.runs != other.runs || differ(one.seconds, other.seconds);
}

/// The earlier run's time on one side (CPU or device), scaled to this run's work, if this run has timed less than half
/// of its operations there; else nullopt.
std::optional<double> told_by(const std::optional<RunTimes>& earlier, double RunTimes::*side, const RunTimes& run,
                              double timed) {
  if (2 * timed >= run.flops || !earlier || (*earlier).*side <= 0) return std::nullopt;
  return (*earlier).*side * run.flops / earlier->flops;
}

/// Seconds by which whole runs with the device are shorter than those without it; nullopt if one of them is not known.
std::optional<double> saved_as_a_whole(const RunTimes& run) {
  if (run.with_device.seconds <= 0 || run.without_device.seconds <= 0) return std::nullopt;
  return run.without_device.seconds - run.with_device.seconds;
}

/// Adds the whole run to those with as much work.
void add_whole_run(RunTimes& run, const SpentOnCpu& before_opening, const report::Totals& totals,
                   const report::Context& context, const RunTimes& earlier) {
  EarlierRun whole = report::whole_run(totals, context);
  if (did_same_work(earlier.with_device, whole.flops)) run.with_device = earlier.with_device;
  if (did_same_work(earlier.without_device, whole.flops)) run.without_device = earlier.without_device;
  if (context.cpu_run && did_same_work(*context.cpu_run, whole.flops)) run.without_device = *context.cpu_run;
  if (!context.device_opening) {
    run.without_device = mean_with(run.without_device, whole);
    return;
  }
  if (const auto saved = report::saved_against(run.without_device, totals, context))
    whole.seconds = run.without_device.seconds - *saved - context.interception.seconds;
  if (context.device_opening->foreseen) {
    run.with_device = mean_with(run.with_device, whole);
  } else if (run.with_device.runs == 0) {
    // A run that opens the device at once does not lose what this one has lost until then.
    const double lost = std::max(0.0, before_opening.seconds - before_opening.on_device);
    run.with_device = {.flops = whole.flops, .seconds = std::max(0.0, whole.seconds - lost)};
  }
}

/// Wall time of the calls that are not small, divided by the sum of what threads have spent in them: half, if two
/// threads always call at the same time.
double share_of_wall_time(const report::Totals& totals, const report::RoutineTotals& sums) {
  const double spent = sums.cpu_seconds + sums.device_seconds - totals.small_seconds;
  return sums.wall_seconds > 0 && sums.wall_seconds < spent ? sums.wall_seconds / spent : 1;
}

double usable_lead(const RunTimes& run) {
  return run.lead <= longest_lead ? run.lead : 0;
}

}  // namespace

std::string command_of_process() {
  namespace fs = std::filesystem;
  std::error_code unknown;
  std::string text = fs::read_symlink("/proc/self/exe", unknown).string();
  for (const std::string& part : {platform::command_line(), fs::current_path(unknown).string()})
    text.append(1, '\0').append(part);
  return text;
}

std::string path_in_cache(const char* folder_name, const std::string& command) {
  const std::string cache = user_cache();
  return cache.empty() ? "" : fmt::format("{}/{}/{:03x}.json", cache, folder_name, platform::hash(command) >> 52U);
}

RunTimes times_of_run(const SpentOnCpu& before_opening, const report::Totals& totals, const report::Context& context,
                      const std::optional<RunTimes>& earlier) {
  const report::RoutineTotals sums = report::sum_over_routines(totals);
  const double share = share_of_wall_time(totals, sums);
  const double judged = sums.device_seconds > 0 ? sums.judged_seconds / sums.device_seconds : 0;
  RunTimes run;
  run.flops = before_opening.flops + sums.offloaded_flops;
  const double timed = before_opening.flops + judged * sums.offloaded_flops;
  const double seconds = before_opening.seconds + share * sums.expected_cpu_seconds;
  const auto told_cpu = told_by(earlier, &RunTimes::cpu, run, before_opening.flops);
  run.cpu = told_cpu.value_or(timed > 0 ? seconds * run.flops / timed : 0);
  // The first calls on the device load libraries and kernels, so the others are not expected to take as long.
  const auto told_device = told_by(earlier, &RunTimes::device, run, sums.offloaded_flops);
  run.device = told_device.value_or(before_opening.on_device + share * sums.device_seconds);
  run.carried_over = told_cpu || told_device;
  if (context.device_opening)
    run.opening = context.device_opening->seconds + context.device_opening->closing;
  else if (earlier)
    run.opening = earlier->opening;
  add_whole_run(run, before_opening, totals, context, earlier.value_or(RunTimes{}));
  return run;
}

OpenPolicy::Foresight foresight(const RunTimes& run, OpeningPrice price) {
  const double gain = run.cpu - run.device;
  const bool ranks_wait = price.job > price.own && !run.for_all;
  const double max_price = std::max(price.own, run.opening) * (ranks_wait ? price.job / price.own : 1);
  const double visible_price = std::max(max_price - usable_lead(run), min_visible * max_price);
  const std::optional<double> saved = saved_as_a_whole(run);
  const auto told = [](bool gains) { return gains ? OpenPolicy::Foresight::gains : OpenPolicy::Foresight::loses; };
  // What a rank gains may be time in which it waits for the others, so whole runs tell.
  if (ranks_wait) return told(gain >= (saved ? beyond_doubt : worth_no_trial) * visible_price || saved.value_or(0) > 0);
  if (saved && *saved <= 0 && gain < beyond_doubt * max_price) return OpenPolicy::Foresight::loses;
  return told(gain >= (run.opened_at_once ? 1 : clear_gain) * visible_price ||
              saved.value_or(0) > (clear_gain - 1) * max_price);
}

bool opens_ahead(const RunTimes& run, OpeningPrice price) {
  return usable_lead(run) > 0 && foresight(run, price) == OpenPolicy::Foresight::gains;
}

bool RunHistory::may_be_known() {
  const std::string path = path_in_cache(folder, command_of_process());
  return !path.empty() && access(path.c_str(), R_OK) == 0;
}

RunHistory::RunHistory(const std::string& conditions) {
  const std::string text_of_command = command_of_process();
  command_ = platform::hash(text_of_command + '\0' + conditions);
  path_ = path_in_cache(folder, text_of_command);
  const auto age = path_.empty() ? std::nullopt : age_of(path_);
  if (!age || *age > max_age) return;
  age_ = *age;
  const auto text = content_of(path_);
  const auto known = text ? parse(*text, command_) : std::nullopt;
  if (!known) return;
  times_ = known->times;
  used_once_ = known->used_once;
}

void RunHistory::keep(const RunTimes& run, OpeningPrice price,
                      const std::optional<std::vector<std::uint64_t>>& used_once) const {
  if (path_.empty()) return;
  bool tells = false;
  if (run.flops > 0)
    tells = times_
                ? foresight(*times_, price) != foresight(run, price) ||
                      opens_ahead(*times_, price) != opens_ahead(run, price) || differ(times_->flops, run.flops) ||
                      differ(times_->cpu, run.cpu) || differ(times_->device, run.device) ||
                      differ(times_->with_device, run.with_device) ||
                      differ(times_->without_device, run.without_device) || used_once.value_or(used_once_) != used_once_
                : run.cpu >= min_share * price.own;
  if (tells) {
    if (write(run, used_once.value_or(used_once_), 0) && times_ && run.carried_over) set_age(path_, age_);
  } else if (marked_) {
    RunTimes known = *times_;
    if (run.flops <= 0) known.lead = 0;
    if (write(known, used_once_, 0)) set_age(path_, age_);
  }
}

bool RunHistory::mark_ahead() {
  marked_ = write(*times_, used_once_, getpid());
  if (marked_) set_age(path_, age_);
  return marked_;
}

bool RunHistory::write(const RunTimes& run, const std::vector<std::uint64_t>& used_once, int opening_ahead) const {
  return report::replace_file(path_, text_of(command_, run, used_once, opening_ahead));
}

}  // namespace blastoff::runtime
